package control_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
)

const (
	systemSecrets     = "/api/v1/namespaces/weft-system/secrets"
	systemTrusts      = "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshtrusts"
	systemIdentities  = "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshidentities"
	systemPermissions = "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshtrafficpermissions"
)

// secured is a cluster whose workloads prove who they are, and its replicas.
type secured struct {
	*kubetest.Cluster
	t   *testing.T
	log *journal
	all map[string]*plane
}

func newSecured(t *testing.T, replicas ...string) *secured {
	t.Helper()
	s := &secured{Cluster: kubetest.Start(t), t: t, log: &journal{}, all: map[string]*plane{}}
	for _, d := range crd.All(world.Catalog(), "dev") {
		if status, got := s.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
	}
	create(t, s.Cluster, "/api/v1/namespaces", `metadata: {name: weft-system}`)
	create(t, s.Cluster, "/api/v1/namespaces", `metadata: {name: shop, labels: {kuma.io/sidecar-injection: enabled}}`)
	for _, path := range []string{meshes, systemTrusts, systemIdentities, systemPermissions} {
		eventually(t, path+" is served", func() bool {
			status, _ := s.Send(t, http.MethodGet, path, nil)
			return status == http.StatusOK
		})
	}
	for _, name := range replicas {
		s.start(name)
	}
	return s
}

// start starts a replica, and waits until it leads where it is the first.
func (s *secured) start(name string, change ...func(*control.Config)) *plane {
	s.t.Helper()
	p := s.begin(name, change...)
	if len(s.all) == 1 {
		eventually(s.t, "the first replica leads", p.leads)
	}
	return p
}

// begin starts a replica.
func (s *secured) begin(name string, change ...func(*control.Config)) *plane {
	s.t.Helper()
	cfg := peered(s.t, s.Cluster, name)
	cfg.DataplaneAuth = "token"
	for _, f := range change {
		f(&cfg)
	}
	p := startLogging(s.t, cfg, slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))).trust(s.Cluster)
	endpoint(s.t, s.Cluster, name, p.XDS())
	s.all[name] = p
	return p
}

// stop ends a replica, of which its peers hear.
func (s *secured) stop(name string) {
	s.t.Helper()
	s.all[name].stop()
	remove(s.t, s.Cluster, "/apis/discovery.k8s.io/v1/namespaces/weft-system/endpointslices/peer-"+name)
	delete(s.all, name)
}

// pod runs a pod of an account that answers for the Service of its label app, and is the token
// of its sidecar.
func (s *secured) pod(name, account, app, address string) (token string) {
	s.t.Helper()
	const accounts = "/api/v1/namespaces/shop/serviceaccounts"
	if status, _ := s.Send(s.t, http.MethodGet, accounts+"/"+account, nil); status == http.StatusNotFound {
		create(s.t, s.Cluster, accounts, `metadata: {name: `+account+`}`)
		create(s.t, s.Cluster, "/api/v1/namespaces/shop/services", `{metadata: {name: `+app+`}, spec: {selector: {app: `+app+`}, ports: [{name: http, port: 80, targetPort: 8080}]}}`)
	}
	p := create(s.t, s.Cluster, "/api/v1/namespaces/shop/pods", `
metadata: {name: `+name+`, labels: {app: `+app+`}, annotations: {kuma.io/sidecar-injected: "true"}}
spec: {serviceAccountName: `+account+`, initContainers: [{name: weft-init, image: weft, args: [--inbound-port=15006, --outbound-port=15001, --ip-family-mode=ipv4]}], containers: [{name: web, image: web, ports: [{containerPort: 8080}]}, {name: weft-sidecar, image: weft, env: [{name: WEFT_MESH, value: default}]}]}`)
	p["status"] = kubetest.Document(s.t, `
phase: Running
podIP: `+address+`
podIPs: [{ip: `+address+`}]
conditions: [{type: Ready, status: "True"}]
containerStatuses: [{name: web, ready: true, restartCount: 0, image: web, imageID: web}, {name: weft-sidecar, ready: true, restartCount: 0, image: weft, imageID: weft}]`)
	if status, got := s.Send(s.t, http.MethodPut, "/api/v1/namespaces/shop/pods/"+name+"/status", p); status != http.StatusOK {
		s.t.Fatalf("the status of %s: %d %v", name, status, got["message"])
	}
	status, got := s.Send(s.t, http.MethodPost, accounts+"/"+account+"/token", map[string]any{"spec": map[string]any{"audiences": []any{"weft-dataplane"}, "expirationSeconds": 3600,
		"boundObjectRef": map[string]any{"kind": "Pod", "apiVersion": "v1", "name": name, "uid": field(p, "metadata", "uid")}}})
	if status != http.StatusCreated {
		s.t.Fatalf("a token: %d %v", status, got["message"])
	}
	return got["status"].(map[string]any)["token"].(string)
}

// mutual has a mesh sign by a backend of weft's own.
func (s *secured) mutual(mesh, mode string) {
	s.t.Helper()
	s.Apply(s.t, kubetest.Document(s.t, `{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: `+mesh+`}, spec: {mtls: {enabledBackend: ca-1, backends: [{name: ca-1, type: builtin, mode: `+mode+`}]}}}`), "")
}

// roots are the certificates that a MeshTrust names.
func (s *secured) roots(name string) (texts []string) {
	s.t.Helper()
	status, got := s.Send(s.t, http.MethodGet, systemTrusts+"/"+name, nil)
	if status != http.StatusOK {
		return nil
	}
	list, _ := field(got, "spec", "caBundles").([]any)
	for i := range list {
		texts = append(texts, field(list, i, "pem", "value").(string))
	}
	return texts
}

// meshSecrets are the names of the Secrets of meshes.
func (s *secured) meshSecrets() string {
	s.t.Helper()
	return listed(s.t, s.Cluster, systemSecrets+"?fieldSelector=type%3Dsystem.kuma.io/secret")
}

// verified reports whether an answer of /certify has a certificate that one of roots vouches for.
func verified(answer string, roots []string) bool {
	var got struct{ Chain string }
	if json.Unmarshal([]byte(answer), &got) != nil {
		return false
	}
	o := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, text := range roots {
		o.Roots.AppendCertsFromPEM([]byte(text))
	}
	o.Intermediates.AppendCertsFromPEM([]byte(got.Chain))
	block, _ := pem.Decode([]byte(got.Chain))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err == nil {
		_, err = leaf.Verify(o)
	}
	return err == nil
}

// TestAPIServerCertifiesPods (I1, case 7): the leader keeps an authority in Secrets and a
// MeshTrust; a sidecar gets a certificate from either replica, for the workload that its pod is
// and no other; and what was made goes with its document.
func TestAPIServerCertifiesPods(t *testing.T) {
	t.Parallel()
	s := newSecured(t, "a", "b")
	a, b := s.all["a"], s.all["b"]
	tokens := map[string]string{"web-1.shop": s.pod("web-1", "web", "web", "198.51.100.11"), "pay-1.shop": s.pod("pay-1", "pay", "pay", "198.51.100.12")}
	s.mutual("default", "PERMISSIVE")
	eventually(t, "there is a root", func() bool { return len(s.roots("mtls-default")) == 1 })
	eventually(t, "it is kept", func() bool {
		return s.meshSecrets() == "default.ca-builtin-cert-ca-1 default.ca-builtin-key-ca-1 default.ca-rotation"
	})
	eventually(t, "all may call", func() bool { return listed(t, s.Cluster, systemPermissions) == "mesh-traffic-permission-all-default" })
	for name, p := range map[string]*plane{"web-1.shop": a, "pay-1.shop": b} {
		_, end := p.stream(name, tokens[name])
		defer end()
	}
	s.each(tokens, map[string][]string{
		"web-1.shop": {"spiffe://default/web_shop_svc_80"}, "pay-1.shop": {"spiffe://default/pay_shop_svc_80"}}, "mtls-default")

	s.page("MeshIdentity")
	eventually(t, "it has a root", func() bool { return len(s.roots("accounts")) == 1 })
	s.each(tokens, map[string][]string{
		"web-1.shop": {"spiffe://default.cluster.local/ns/shop/sa/web"}, "pay-1.shop": {"spiffe://default.cluster.local/ns/shop/sa/pay"}}, "accounts")
	remove(t, s.Cluster, systemIdentities+"/accounts")
	eventually(t, "what was made for it is gone", func() bool {
		return len(s.roots("accounts")) == 0 && s.meshSecrets() == "default.ca-builtin-cert-ca-1 default.ca-builtin-key-ca-1 default.ca-rotation"
	})
	for _, path := range []string{"/meshes/default/secrets", "/_problems", "/meshes/default/_authorities"} {
		if text := b.want(http.StatusOK, http.MethodGet, path, ""); strings.Contains(text, "PRIVATE") || strings.Contains(text, "UFJJVkFURS") {
			t.Errorf("%s shows a key", path)
		}
	}
	if strings.Contains(s.log.String(), "PRIVATE") || strings.Contains(s.log.String(), "UFJJVkFURS") {
		t.Error("the log shows a key")
	}
}

// each has all dataplanes certified with all tokens by both replicas: each gets the names that
// it has, by its own token alone, from an authority that all trust.
func (s *secured) each(tokens map[string]string, names map[string][]string, trust string) {
	s.t.Helper()
	for replica, p := range s.all {
		for name, want := range names {
			for of, token := range tokens {
				var code int
				var got []string
				var text string
				eventually(s.t, fmt.Sprintf("%s answers for %s with the token of %s", replica, name, of), func() bool {
					code, got, text = p.certify(token, name)
					got = slices.DeleteFunc(got, func(n string) bool { return !strings.HasPrefix(n, "spiffe:") })
					return of != name || code == http.StatusOK && slices.Equal(got, want) || code != http.StatusServiceUnavailable && code != http.StatusOK
				})
				switch {
				case of != name && code != http.StatusForbidden:
					s.t.Errorf("%s as %s by %s: %d %s", of, name, replica, code, text)
				case of == name && (code != http.StatusOK || !slices.Equal(got, want) || !verified(text, s.roots(trust))):
					s.t.Errorf("%s by %s: %d %v %s", name, replica, code, got, text)
				}
			}
		}
	}
}
