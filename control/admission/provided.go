package admission

import (
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Sources is where the material of authorities that people bring is, beside documents and Secrets.
type Sources struct {
	// System are the namespaces in which operators write.
	System []string
	// File reads a file; nil where only the control plane can.
	File func(path string) ([]byte, error)
	Now  time.Time
}

// Provided is what keeps authorities that writes bring from signing (spec/identity.md 1.1): of
// those whose certificate and key can be read here. One that a write leaves as it was is not
// judged again: it may have grown old since. No message quotes material.
func Provided(now *snapshot.Snapshot, writes []store.Write, s Sources) (out []*api.Violation) {
	// What would be stored is for authorities alone, which few writes bring: it has all documents of a batch.
	written := sync.OnceValues(func() (after *snapshot.Snapshot, secrets map[api.Ref]bool) {
		changes, _ := store.Changes(now, writes, s.Now)
		secrets = map[api.Ref]bool{}
		for _, c := range changes {
			if c.Ref().Kind == api.KindSecret {
				secrets[c.Ref()] = true
			}
		}
		return now.With(now.Revision()+1, changes), secrets
	})
	for _, w := range writes {
		if w.Put == nil {
			continue
		}
		for _, p := range pairsOf(w.Put) {
			before, _ := now.Get(w.Ref())
			after, secrets := written()
			if p.isIn(pairsOf(before)) && !p.isOf(after, secrets, s.System) {
				continue
			}
			if v := p.check(after, s); v != nil {
				v.Object, v.Position = w.Ref(), syntax.Locate(w.Put.Source, v.Field)
				out = append(out, v)
			}
		}
	}
	return out
}

// pair is the certificate and the key of an authority.
type pair struct {
	mesh      string
	at        map[string]api.Path // of cert and of key
	cert, key material
	life      time.Duration // of leaves
}

// material is where a value is: one of its fields is set, or none where it is nowhere that can be
// read here.
type material struct {
	secret, file string
	inline       []byte
}

// pairsOf are those that a document brings and wants checked.
func pairsOf(o *api.Object) (out []pair) {
	if o == nil {
		return nil
	}
	switch spec := o.Spec.(type) {
	case *api.Mesh:
		if spec.MTLS == nil || spec.MTLS.SkipValidation {
			return nil
		}
		at := syntax.SpecPath(o.Source).Field("mtls")
		all, _ := spec.MTLS.Authorities(at) // the document was validated
		for i, a := range all {
			if a.Type != api.AuthorityProvided || a.Cert == nil || a.Key == nil {
				continue
			}
			conf := at.Field("backends").Index(i).Field("conf")
			out = append(out, pair{o.Name, map[string]api.Path{"cert": conf.Field("cert"), "key": conf.Field("key")},
				material{a.Cert.Secret, a.Cert.File, a.Cert.Inline}, material{a.Key.Secret, a.Key.File, a.Key.Inline}, a.CertificateLife})
		}
	case *api.MeshIdentity:
		if spec.Provider == nil || spec.Provider.Bundled == nil || spec.Provider.Bundled.CA == nil {
			return nil
		}
		at, ca := api.Path("spec.provider.bundled.ca"), spec.Provider.Bundled.CA
		out = append(out, pair{o.Mesh, map[string]api.Path{"cert": at.Field("certificate"), "key": at.Field("privateKey")},
			materialOf(ca.Certificate), materialOf(ca.PrivateKey), spec.CertificateLife()})
	}
	return out
}

func materialOf(s *api.SecureDataSource) (m material) {
	if s == nil {
		return m
	}
	m.secret = s.SecretName()
	if s.File != nil {
		m.file = s.File.Path
	}
	if s.InsecureInline != nil {
		m.inline = []byte(s.InsecureInline.Value)
	}
	return m
}

// isIn reports whether the pair is one of those, wherever it stood.
func (p *pair) isIn(all []pair) bool {
	for _, o := range all {
		if o.at = p.at; reflect.DeepEqual(o, *p) {
			return true
		}
	}
	return false
}

// isOf reports whether a part of the pair is in one of these Secrets.
func (p *pair) isOf(s *snapshot.Snapshot, secrets map[api.Ref]bool, system []string) bool {
	for _, name := range []string{p.cert.secret, p.key.secret} {
		if ref, ok := snapshot.MeshSecretRef(s, p.mesh, name, system); name != "" && ok && secrets[ref] {
			return true
		}
	}
	return false
}

// check is what is wrong with the pair; nil for nothing, and where not both parts can be read.
func (p *pair) check(s *snapshot.Snapshot, from Sources) *api.Violation {
	for field, m := range map[string]material{"cert": p.cert, "key": p.key} {
		var wrong *files.NotRegularError
		if m.file == "" || from.File == nil {
			continue
		}
		if _, err := from.File(m.file); errors.As(err, &wrong) { // it never becomes a file by waiting
			return p.at[field].Breaks("%s", wrong.Error())
		}
	}
	cert, ok := p.cert.read(s, p.mesh, from)
	if !ok {
		return nil
	}
	key, ok := p.key.read(s, p.mesh, from)
	if !ok {
		return nil
	}
	if _, fault := workload.Parse(cert, key, p.life, from.Now); fault != nil {
		return p.at[fault.Field].Breaks("%s", fault.Message)
	}
	return nil
}

// read is the value; not ok where it cannot be read here.
func (m material) read(s *snapshot.Snapshot, mesh string, from Sources) ([]byte, bool) {
	switch {
	case m.secret != "":
		return snapshot.MeshSecretIn(s, mesh, m.secret, from.System)
	case m.file != "" && from.File != nil:
		text, err := from.File(m.file)
		return text, err == nil
	}
	return m.inline, m.inline != nil
}
