package api

import (
	"cmp"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/api/redact"
)

// Authority is one backend of Mesh.mtls as it is understood (spec/identity.md 1.1).
type Authority struct {
	Name            string
	Type            string // AuthorityBuiltin or AuthorityProvided
	Permissive      bool
	CertificateLife time.Duration   // of a workload's certificate
	RootLife        time.Duration   // of a root that weft makes
	Cert, Key       *MaterialSource // of one that is provided
}

// The types of an Authority.
const (
	AuthorityBuiltin  = "builtin"
	AuthorityProvided = "provided"
)

// MaterialSource is where material is: one of its fields is set.
type MaterialSource struct {
	Secret string // a Secret of the mesh
	File   string // an absolute path
	Inline []byte
}

// SecretName is the Secret that holds the material; empty where it is elsewhere.
func (s *MaterialSource) SecretName() string {
	if s == nil {
		return ""
	}
	return s.Secret
}

// The lives where a backend does not say otherwise.
const (
	defaultCertificateLife = 24 * time.Hour
	defaultRootLife        = 10 * year
	year                   = 365 * 24 * time.Hour
	leastCertificateLives  = 4 // lives of leaves in that of their root, for a rotation needs two
)

// Authorities are the backends, with everything that is wrong with them; those with mistakes
// are there as far as they were understood. Any number may stand there: all are trusted, and
// the one that is enabled signs.
func (t *MeshTLS) Authorities(at Path) ([]Authority, error) {
	var errs *multierror.Error
	var out []Authority
	var names []string
	seen := map[string]bool{}
	for i, b := range t.Backends {
		here := at.Field("backends").Index(i)
		switch {
		case b.Name == "":
			errs = multierror.Append(errs, here.Field("name").Breaks("is missing; give the backend one"))
		case !dnsLabel.MatchString(b.Name) || len(b.Name) > 63:
			errs = multierror.Append(errs, here.Field("name").Breaks("%q is no label of RFC 1035; use lower-case letters, digits and -, beginning with a letter, at most 63", redact.Clip(b.Name)))
		case seen[b.Name]:
			errs = multierror.Append(errs, here.Field("name").Breaks("%q is the name of another backend; give each its own", b.Name))
		}
		seen[b.Name] = true
		names = append(names, b.Name)
		a, err := b.authority(here)
		errs = multierror.Append(errs, err)
		out = append(out, a)
	}
	if e := t.EnabledBackend; e != "" && !seen[e] {
		if len(names) == 0 {
			errs = multierror.Append(errs, at.Field("enabledBackend").Breaks("there is no backend %q; add it to backends", redact.Clip(e)))
		} else {
			errs = multierror.Append(errs, at.Field("enabledBackend").OneOf(e, names...))
		}
	}
	if t.SkipValidation {
		errs = multierror.Append(errs, at.Field("skipValidation").Warns(CodeNoEffect, "an authority that cannot sign is found only when it has to; leave it out to have provided ones checked now"))
	}
	return out, errs.ErrorOrNil()
}

// authority understands one backend.
func (b *MeshBackend) authority(at Path) (Authority, error) {
	a := Authority{Name: b.Name, Type: b.Type, Permissive: b.Mode == "PERMISSIVE", CertificateLife: defaultCertificateLife, RootLife: defaultRootLife}
	var errs *multierror.Error
	errs = multierror.Append(errs, validateWord(at.Field("mode"), b.Mode, "STRICT", "PERMISSIVE"))
	if b.Format != "" {
		errs = multierror.Append(errs, at.Field("format").Breaks("an authority has no format; remove it"))
	}
	if b.Sampling != nil {
		errs = multierror.Append(errs, at.Field("sampling").Breaks("an authority samples nothing; remove it"))
	}
	dp := newPart(at.Field("dpCert"), b.DPCert, &errs, "rotation", "requestTimeout")
	a.CertificateLife = dp.part("rotation", "expiration").life("expiration", defaultCertificateLife)
	errs = multierror.Append(errs, validateCertificateLife(at.Field("dpCert").Field("rotation").Field("expiration"), a.CertificateLife))
	dp.wait("requestTimeout")
	newPart(at.Field("rootChain"), b.RootChain, &errs, "requestTimeout").wait("requestTimeout")
	conf := at.Field("conf")
	switch b.Type {
	case AuthorityBuiltin:
		ca := newPart(conf, b.Conf, &errs, "caCert").part("caCert", "RSAbits", "expiration")
		if _, ok := ca.fields["RSAbits"]; ok {
			errs = multierror.Append(errs, ca.at.Field("RSAbits").Warns(CodeNoEffect, "weft makes keys of ECDSA P-256, which cost less to sign with; remove it"))
		}
		if a.RootLife = ca.life("expiration", defaultRootLife); a.RootLife < leastCertificateLives*a.CertificateLife {
			errs = multierror.Append(errs, ca.at.Field("expiration").Breaks("is shorter than %d lives of a workload's certificate (%s each); write a longer one", leastCertificateLives, a.CertificateLife))
		}
	case AuthorityProvided:
		both := newPart(conf, b.Conf, &errs, "cert", "key")
		a.Cert, a.Key = both.source("cert"), both.source("key")
	default:
		errs = multierror.Append(errs, at.Field("type").OneOf(b.Type, AuthorityBuiltin, AuthorityProvided))
	}
	return a, errs.ErrorOrNil()
}

// part is a block of a backend of which the document keeps the tree alone.
type part struct {
	at     Path
	fields map[string]any
	errs   **multierror.Error
}

// newPart is a block that may have these fields.
func newPart(at Path, fields map[string]any, errs **multierror.Error, known ...string) part {
	p := part{at, fields, errs}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, k) {
			v := at.Field(k).Breaks("unknown field; %s", nearest.DidYouMean(k, known, "write one of"))
			v.Code = "UnknownField"
			p.report(v)
		}
	}
	return p
}

func (p part) report(err error) { *p.errs = multierror.Append(*p.errs, err) }

// part is the block under key.
func (p part) part(key string, known ...string) part {
	m, ok := p.fields[key].(map[string]any)
	if !ok && p.fields[key] != nil {
		p.report(p.at.Field(key).Breaks("is no map; write the fields %s", strings.Join(known, ", ")))
	}
	return newPart(p.at.Field(key), m, p.errs, known...)
}

// text is the text under key; not ok where there is none.
func (p part) text(key string) (string, bool) {
	text, ok := p.fields[key].(string)
	if !ok && p.fields[key] != nil {
		p.report(p.at.Field(key).Breaks("is no text; write one"))
	}
	return text, ok
}

var lifeText = regexp.MustCompile(`^([0-9]{1,9})(ms|s|m|h|d|w|y)$`)

// units are those of Kuma's lives.
var units = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": year}

// longestLife is what the clock of a certificate still counts well.
const longestLife = 100 * year

// life is a number with a unit.
func (p part) life(key string, otherwise time.Duration) time.Duration {
	text, ok := p.text(key)
	if !ok {
		return otherwise
	}
	m := lifeText.FindStringSubmatch(text)
	if m == nil {
		p.report(p.at.Field(key).Breaks("%q is no length of time; write one number with one of the units ms, s, m, h, d, w, y, such as 1d", redact.Clip(text)))
		return otherwise
	}
	n, _ := strconv.Atoi(m[1]) // nine digits
	if unit := units[m[2]]; time.Duration(n) <= longestLife/unit {
		return time.Duration(n) * unit
	}
	p.report(p.at.Field(key).Breaks("%s is too long; at most 100y", text))
	return otherwise
}

// wait checks a duration of Go, which only authorities outside need.
func (p part) wait(key string) {
	text, ok := p.text(key)
	if !ok {
		return
	}
	if d, err := time.ParseDuration(text); err != nil || d <= 0 {
		p.report(p.at.Field(key).Breaks("%q is no time to wait; write a number with a unit, such as 10s", redact.Clip(text)))
	}
}

// source is where material is. No message quotes it.
func (p part) source(key string) *MaterialSource {
	if p.fields[key] == nil {
		p.report(p.at.Field(key).Breaks("is missing; write secret, file, inline or inlineString"))
		return nil
	}
	s := p.part(key, "secret", "file", "inline", "inlineString")
	secret, n1 := s.text("secret")
	file, n2 := s.text("file")
	inline, n3 := s.text("inline")
	plain, n4 := s.text("inlineString")
	n := 0
	for _, given := range []bool{n1, n2, n3, n4} {
		if given {
			n++
		}
	}
	out := &MaterialSource{Secret: secret, File: file}
	if n != 1 || cmp.Or(secret, file, inline, plain) == "" {
		s.report(s.at.Breaks("needs exactly one of secret, file, inline and inlineString; write one of them"))
		return out
	}
	switch {
	case n1:
		s.report(validateSecretName(s.at.Field("secret"), secret))
	case n2:
		s.report(validateFile(s.at.Field("file"), file))
	case n3:
		raw, err := base64.StdEncoding.DecodeString(inline)
		if err != nil && inline != Hidden { // which is refused elsewhere
			s.report(s.at.Field("inline").Breaks("%s", redact.ErrEncoding))
		}
		out.Inline = raw
	case n4:
		out.Inline = []byte(plain)
	}
	if key == "key" && (n3 || n4) {
		s.report(s.at.Warns(CodePlainKey, "the key stands in the document, where all may read it who may read that; put it into a Secret, and name that by secret"))
	}
	return out
}
