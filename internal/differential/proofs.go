package differential

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// The trust domains of drawn worlds. Their authorities are the same in all worlds, and no part
// of a source: what is kept must not end with a certificate.
const (
	meshDomain  = "default" // of names that Mesh.mtls gives
	otherDomain = "other.example"
)

// roots are the authorities of the trust domains.
var roots = sync.OnceValue(func() map[string]*workload.Signer {
	out := map[string]*workload.Signer{}
	for domain, constrained := range map[string]bool{meshDomain: false, otherDomain: true} {
		out[domain] = must(workload.NewRoot(domain, constrained, workload.RootLife, time.Now()))
	}
	return out
})

// trusts are the MeshTrusts of a world in which somebody has an identity.
func trusts(docs []m) []*api.Object {
	if !heard(docs) {
		return nil
	}
	var out []*api.Object
	for _, domain := range sortedKeys(roots()) {
		text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: roots()[domain].Certificate().Raw}))
		out = append(out, &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: domain}, Spec: &api.MeshTrust{
			TrustDomain: domain, CABundles: []api.CABundle{{Type: "Pem", PEM: &api.PEMBundle{Value: text}}}}})
	}
	return out
}

// heard reports whether something is known of sidecars, as in all worlds with identities.
func heard(docs []m) bool {
	return slices.ContainsFunc(docs, func(doc m) bool { return kindOf(doc) == api.KindDataplaneInsight })
}

// proves reports whether dataplanes of the world may have identities.
func (w *World) proves() bool { return heard(w.Documents) }

// insight is what a control plane has heard of a sidecar, as a source says it: nobody writes
// such documents.
func insight(doc m) *api.Object {
	text, err := json.Marshal(doc["spec"])
	spec := &api.DataplaneInsight{}
	if err == nil {
		err = json.Unmarshal(text, spec)
	}
	if err != nil {
		panic(err) // it was drawn so
	}
	spec.OverADS = true // an agent would serve the certificate to one dataplane
	name, _ := doc["name"].(string)
	return &api.Object{Ref: api.InsightRef(dataplane(name)), Spec: spec}
}

// proving gives a dataplane that believes others the certificate with its own names.
func proving(t testing.TB, r *effective.Resolved, s *resource.State) *resource.State {
	t.Helper()
	if len(r.Trust) == 0 || len(r.Identity.Names) == 0 {
		return s
	}
	if id, err := spiffe.Parse(r.Identity.Names[0]); err != nil || roots()[id.Domain] == nil {
		return s // a world that was reduced may lack who signs
	}
	out := *s
	out.Secrets = append([]*resource.Resource{certificate(t, r.Identity.Names)}, s.Secrets...) // by its name the first
	return &out
}

var (
	knownCertificates = map[string]*resource.Resource{}
	knowing           sync.Mutex
)

// certificate is one of names with its key, by the authority of the trust domain of the first.
func certificate(t testing.TB, names []string) *resource.Resource {
	t.Helper()
	knowing.Lock()
	defer knowing.Unlock()
	name := strings.Join(names, " ")
	if r := knownCertificates[name]; r != nil {
		return r
	}
	id, err := spiffe.Parse(names[0])
	if err != nil {
		t.Fatal(err)
	}
	by, key := must(roots()[id.Domain].Intermediate(time.Now())), must(workload.NewKey())
	chain := must(by.Issue(names, &key.PublicKey, workload.CertificateLife, time.Now()))
	text := func(b []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))})
	secret := naming.IdentitySecret("default")
	r := (&resource.Resource{Name: secret, Type: resource.SecretType, Version: fmt.Sprint(len(knownCertificates))}).With(envoy.Pack(&tlsv3.Secret{Name: secret, Type: &tlsv3.Secret_TlsCertificate{
		TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: text(chain.PEM()), PrivateKey: text(private)}}}))
	knownCertificates[name] = r
	return r
}
