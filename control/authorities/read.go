package authorities

import (
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/api/template"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// authority is what signs for those whose identity one document says.
type authority struct {
	owner   api.Ref // the Mesh or the MeshIdentity
	at      api.Path
	mesh    string
	domain  string
	trust   string // the name of its MeshTrust; empty publishes none
	secrets string // the name of the Secret with its State
	signs   bool   // the document wants certificates signed
	roots   []root // all are trusted
	enabled string // the backend that is to sign; empty for a MeshIdentity
	state   rotation.State
	asked   asked // what people asked of the rotation that runs
	stated  bool
	since   uint64 // the revision in which its generation of trust was seen first; notYet where its MeshTrust says another
	fault   string // why it cannot sign, for people; empty where it can
}

// root is one of an authority.
type root struct {
	name         string // of its backend; empty for that of a MeshIdentity
	at           api.Path
	made         bool          // weft makes it, and has not yet
	own          bool          // weft has made it or makes it, or a Kuma before it has
	cert, key    string        // the Secrets that hold it; empty where it is elsewhere
	life         time.Duration // its own
	certificates time.Duration // the life of what it signs
	text         []byte        // the certificate in PEM; nil where there is none yet
	signer       *workload.Signer
	fault        string
}

func (r *root) fingerprint() string { return workload.Fingerprint(r.signer.Certificate()) }

// reader reads what a snapshot says of authorities.
type reader struct {
	*snapshot.Snapshot
	cfg *Config
}

func (k *CAController) read(s *snapshot.Snapshot) map[api.Ref]*authority {
	r := reader{s, &k.cfg}
	out := map[api.Ref]*authority{}
	for o := range s.OfKind(api.KindMesh) {
		if a := r.ofMesh(o); a != nil {
			out[a.owner] = a
		}
	}
	for o := range s.OfKind(api.KindMeshIdentity) {
		if a := r.ofIdentity(o); a != nil {
			out[a.owner] = a
		}
	}
	for _, a := range out {
		r.assess(a)
	}
	return out
}

// ofMesh is the authority of Mesh.mtls: the domain is the mesh, and every backend is trusted.
func (r reader) ofMesh(o *api.Object) *authority {
	m, ok := o.Spec.(*api.Mesh)
	if !ok || m.MTLS == nil {
		return nil
	}
	at := api.Path("mtls")
	backends, _ := m.MTLS.Authorities(at) // it was validated
	a := &authority{owner: api.Ref{Kind: api.KindMesh, Name: o.Name}, mesh: o.Name, domain: o.Name, trust: api.TrustName(o.Ref), secrets: o.Name + ".ca-rotation"}
	for i, b := range backends {
		here := root{name: b.Name, at: at.Field("backends").Index(i), life: b.RootLife, certificates: b.CertificateLife, own: b.Type == api.AuthorityBuiltin}
		if b.Name == m.MTLS.EnabledBackend {
			a.enabled, a.signs, a.at = b.Name, true, here.at
		}
		if here.own {
			here.cert, here.key = o.Name+".ca-builtin-cert-"+b.Name, o.Name+".ca-builtin-key-"+b.Name
			a.roots = append(a.roots, r.places(a.mesh, here)...)
			continue
		}
		here.cert, here.key = b.Cert.SecretName(), b.Key.SecretName()
		r.provided(&here, func() ([]byte, error) { return r.material(a.mesh, b.Cert) }, func() ([]byte, error) { return r.material(a.mesh, b.Key) })
		a.roots = append(a.roots, here)
	}
	if len(a.roots) == 0 {
		return nil
	}
	return a
}

// ofIdentity is the authority of a MeshIdentity of type Bundled.
func (r reader) ofIdentity(o *api.Object) *authority {
	m, ok := o.Spec.(*api.MeshIdentity)
	if !ok || m.Provider == nil || m.Provider.Bundled == nil {
		return nil
	}
	b := m.Provider.Bundled
	at := api.Path("spec").Field("provider").Field("bundled")
	a := &authority{owner: o.Ref, at: at, mesh: o.Mesh, trust: o.Name, secrets: ofIdentity(o.Name)[2], signs: true}
	if b.MeshTrustCreation == "Disabled" {
		a.trust = ""
	}
	domain, err := r.domain(o, m)
	if err != nil {
		a.fault = noDomain(err)
	}
	a.domain = domain
	here := root{at: at, life: workload.RootLife, certificates: workload.CertificateLife}
	if c := b.CertificateParameters; c != nil && c.Expiry != nil {
		here.certificates = time.Duration(*c.Expiry)
	}
	switch {
	case b.CA != nil:
		here.cert, here.key = b.CA.Certificate.SecretName(), b.CA.PrivateKey.SecretName()
		r.provided(&here, func() ([]byte, error) { return r.source(a.mesh, b.CA.Certificate) }, func() ([]byte, error) { return r.source(a.mesh, b.CA.PrivateKey) })
	case b.InsecureAllowSelfSigned == nil || !*b.InsecureAllowSelfSigned:
		here.fault = "a root that weft makes signs itself, so nothing is issued; write insecureAllowSelfSigned: true to accept that"
	default:
		here.own, here.cert, here.key = true, ofIdentity(o.Name)[0], ofIdentity(o.Name)[1]
		a.roots = r.places(a.mesh, here)
		a.roots[0].made = a.roots[0].made && a.fault == ""
		return a
	}
	a.roots = []root{here}
	return a
}

// domain is the trust domain of a MeshIdentity, which depends on mesh and zone alone.
func (r reader) domain(o *api.Object, m *api.MeshIdentity) (string, error) {
	text := spiffe.DefaultDomain
	if m.SpiffeID != nil && m.SpiffeID.TrustDomain != nil {
		text = *m.SpiffeID.TrustDomain
	}
	t, err := spiffe.ParseDomain(text)
	if err != nil {
		return "", err
	}
	domain, err := t.Text(template.Input{Of: "the MeshIdentity", Fields: map[string]string{"Mesh": o.Mesh, "Zone": r.cfg.Zone.Name}, Label: func(string) (string, bool) { return "", false }}, longestDomain)
	if err != nil {
		return "", err
	}
	return domain, spiffe.CheckDomain(domain)
}

const longestDomain = 253

func noDomain(err error) string {
	return "its trust domain is not known without a dataplane: " + err.Error()
}

// provided reads a root that people bring.
func (r reader) provided(into *root, cert, key func() ([]byte, error)) {
	c, err := cert()
	if err != nil {
		into.fault = "its certificate cannot be read: " + err.Error()
		return
	}
	s, err := key()
	if err != nil {
		into.fault = "its key cannot be read: " + err.Error()
		return
	}
	into.parse(c, s, r.cfg.Now())
}

// parse takes a root, and is silent of what stands in the place of its key.
func (r *root) parse(cert, key []byte, now time.Time) {
	s, fault := workload.Parse(cert, key, r.certificates, now)
	if fault != nil {
		r.fault = "its " + map[string]string{"cert": "certificate", "key": "key"}[fault.Field] + " " + fault.Message
		return
	}
	r.signer = s
	r.text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// material is what a backend names.
func (r reader) material(mesh string, s *api.MaterialSource) ([]byte, error) {
	switch {
	case s == nil:
		return nil, errors.New("it is not named")
	case s.Secret != "":
		return r.secret(mesh, s.Secret)
	case s.File != "":
		return r.file(s.File)
	}
	return s.Inline, nil
}

// source is what a MeshIdentity names.
func (r reader) source(mesh string, s *api.SecureDataSource) ([]byte, error) {
	switch {
	case s == nil:
		return nil, errors.New("it is not named")
	case s.SecretRef != nil:
		return r.secret(mesh, s.SecretRef.Name)
	case s.File != nil:
		return r.file(s.File.Path)
	case s.EnvVar != nil:
		if text := os.Getenv(s.EnvVar.Name); text != "" {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("the control plane has no variable %s; set it", s.EnvVar.Name)
	case s.InsecureInline != nil:
		return []byte(s.InsecureInline.Value), nil
	}
	return nil, errors.New("it is not named")
}

func (r reader) secret(mesh, name string) ([]byte, error) {
	if value, ok := snapshot.MeshSecretIn(r.Snapshot, mesh, name, r.cfg.System); ok {
		return value, nil
	}
	if r.cfg.Namespace != "" {
		return nil, fmt.Errorf("there is no Secret %s of mesh %s and type %s in namespace %s; apply one", name, mesh, api.SecretMesh, r.cfg.Namespace)
	}
	return nil, fmt.Errorf("there is no Secret %s in mesh %s; apply one", name, mesh)
}

// File reads a file of an authority, below the directory of files and nowhere else.
func (k *CAController) File(path string) ([]byte, error) { return reader{cfg: &k.cfg}.file(path) }

// largestFile bounds what is read of a file, in bytes.
const largestFile = 256 << 10

// file reads below the directory of files and nowhere else, wherever links lead.
func (r reader) file(path string) ([]byte, error) {
	if r.cfg.CAFileRoot == "" {
		return nil, errors.New("the control plane reads no files of authorities; start it with a directory for them, or put the value into a Secret")
	}
	rel, err := filepath.Rel(r.cfg.CAFileRoot, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return nil, fmt.Errorf("%s lies outside %s; put it there", path, r.cfg.CAFileRoot)
	}
	return caFiles.Read(filepath.Join(r.cfg.CAFileRoot, rel), func() ([]byte, error) {
		dir, err := os.OpenRoot(r.cfg.CAFileRoot)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return files.ReadIn(dir, rel, largestFile)
	})
}

// caFiles are read while writes wait, also where their file system does not answer.
var caFiles = files.Timed{Limit: time.Second}

// assess reads the state of an authority, and says what keeps it from signing.
func (r reader) assess(a *authority) {
	if text, ok := snapshot.MeshSecretIn(r.Snapshot, a.mesh, a.secrets, r.cfg.System); ok {
		s, err := parseKept(text)
		if err != nil {
			a.fault = fmt.Sprintf("the Secret %s cannot be read: %v; restore it", a.secrets, err)
			return
		}
		a.state, a.asked, a.stated = s.State, s.asked, true
	}
	if !a.signs || a.fault != "" {
		return
	}
	if w := a.wanted(); w.fault != "" {
		a.at, a.fault = w.at, w.fault
	}
}
