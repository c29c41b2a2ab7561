package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/index"
)

// tenants are a service of namespace b, and dataplanes of a and b that call hosts at port 80.
const tenants = `
{type: Dataplane, name: bank, mesh: default, labels: {k8s.kuma.io/namespace: b}, networking: {address: 10.1.0.1, inbound: [{port: 8080, tags: {kuma.io/service: bank, kuma.io/protocol: http}}], outbound: [{port: 10080, hosts: {port: 80}}]}}
---
{type: Dataplane, name: evil, mesh: default, labels: {k8s.kuma.io/namespace: a}, networking: {address: 10.1.0.2, inbound: [{port: 8080, tags: {kuma.io/service: evil, kuma.io/protocol: http}}], outbound: [{port: 10080, hosts: {port: 80}}]}}
---
{type: Dataplane, name: nowhere, mesh: default, networking: {address: 10.1.0.3, inbound: [{port: 8080, tags: {kuma.io/service: nowhere, kuma.io/protocol: http}}], outbound: [{port: 10080, hosts: {port: 80}}]}}
---
{type: MeshService, name: bank, mesh: default, labels: {k8s.kuma.io/namespace: b}, spec: {selector: {dataplaneTags: {kuma.io/service: bank}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}}
---
{type: MeshService, name: evil, mesh: default, labels: {k8s.kuma.io/namespace: a}, spec: {selector: {dataplaneTags: {kuma.io/service: evil}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}}
`

// compiled is a world of documents; what is wrong with one fails the test.
func compiled(t *testing.T, texts ...string) (*resolve.Model, []api.Note) {
	t.Helper()
	objects, err := decode.Objects(world.Catalog(), "", []byte(strings.Join(texts, "\n---\n")))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	return world.Compile(snapshot.New(1, objects...))
}

// leads is where a dataplane's calls to a host go; "passes" where nobody takes them.
func leads(t *testing.T, m *resolve.Model, plane, host string) string {
	t.Helper()
	for r := range m.Dataplanes("default") {
		if r.Ref.Name != plane {
			continue
		}
		for _, o := range r.Outbounds {
			if o.ToHost() && o.Destination.Name == host && o.Table != nil && len(o.Table.Routes) > 0 && len(o.Table.Routes[0].Backends) > 0 {
				return o.Table.Routes[0].Backends[0].Cluster
			}
		}
		return "passes"
	}
	t.Fatalf("there is no dataplane %s", plane)
	return ""
}

func proxy(namespace, name, host, to string) string {
	return `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: ` + name + `, namespace: ` + namespace + `}, spec: {virtualhost: {fqdn: "` + host + `"}, routes: [{services: [{name: ` + to + `, port: 80}]}]}}`
}

func group(namespace, name, host, to string) string {
	return `{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: ` + name + `, namespace: ` + namespace + `}, spec: {hosts: ["` + host + `"], backends: [{name: e, type: service, serviceName: ` + to + `, servicePort: 80}], defaultBackends: [{backendName: e}], routes: [{pathSubtree: /}]}}`
}

func owned(grants string) string {
	return `{type: Mesh, name: default, tenancy: {hosts: {mode: Owned, grants: [` + grants + `]}}}`
}

// Where hosts are owned, a host that a namespace was not granted moves calls of its own dataplanes
// alone, whichever language says it and whoever was first; a grant gives it to all, and those
// outside of namespaces have what they had.
func TestAHostActsInItsNamespaceUnlessGranted(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(namespace, name, host, to string) string{"HTTPProxy": proxy, "RouteGroup": group} {
		for _, c := range []struct {
			mesh, host, ofB     string // ofB: what b says of the host itself
			atB, atA, elsewhere string
		}{
			{`{type: Mesh, name: default}`, "api.stripe.com", "", "evil.a:80", "evil.a:80", "evil.a:80"},
			{owned(""), "api.stripe.com", "", "passes", "evil.a:80", "evil.a:80"},
			{owned(`{namespaces: [a], hosts: ["*.stripe.com"]}`), "api.stripe.com", "", "evil.a:80", "evil.a:80", "evil.a:80"},
			{owned(`{namespaces: ["c*"], hosts: ["*"]}`), "api.stripe.com", "", "passes", "evil.a:80", "evil.a:80"},
			{owned(`{namespaces: [a], hosts: [stripe.com]}`), "*.stripe.com", "", "passes", "evil.a:80", "evil.a:80"},
			{owned(""), "bank.example.com", group("b", "own", "bank.example.com", "bank"), "bank.b:80", "evil.a:80", ""},
			{owned(""), "bank.example.com", proxy("b", "own", "bank.example.com", "bank"), "bank.b:80", "evil.a:80", ""},
			{owned(`{namespaces: [b], hosts: [bank.example.com]}`), "bank.example.com", proxy("b", "own", "bank.example.com", "bank"), "bank.b:80", "", ""},
		} {
			if name == "RouteGroup" && strings.HasPrefix(c.host, "*") {
				continue // which names hosts one by one
			}
			texts := []string{c.mesh, tenants, claim("a", "steal", c.host, "evil")}
			if c.ofB != "" {
				texts = append(texts, c.ofB)
			}
			m, _ := compiled(t, texts...)
			for plane, want := range map[string]string{"bank": c.atB, "evil": c.atA, "nowhere": c.elsewhere} {
				if got := leads(t, m, plane, c.host); want != "" && got != want {
					t.Errorf("%s of a for %s beside %q, %s: calls of %s go to %s, want %s", name, c.host, c.ofB, c.mesh, plane, got, want)
				}
			}
		}
	}
}

// The owner of the object is told that its host acts in its namespace alone, and how to be granted it.
func TestWhoIsNotGrantedAHostIsTold(t *testing.T) {
	t.Parallel()
	_, notes := compiled(t, owned(""), tenants, proxy("a", "steal", "api.stripe.com", "evil"))
	if i := slices.IndexFunc(notes, func(n api.Note) bool { return n.Code == conditions.CodeNotOwned }); i < 0 || notes[i].Origin.Ref.Name != "steal" || !strings.Contains(notes[i].Message, "tenancy.hosts.grants") {
		t.Errorf("nobody is told: %v", notes)
	}
	if _, notes := compiled(t, owned("{namespaces: [a], hosts: [api.stripe.com]}"), tenants, proxy("a", "steal", "api.stripe.com", "evil")); slices.ContainsFunc(notes, func(n api.Note) bool { return n.Code == conditions.CodeNotOwned }) {
		t.Errorf("a granted host is complained of: %v", notes)
	}
}

// What lives in a namespace that takes no part in the mesh does nothing there: its dataplanes are
// not served, its services are not called, its routes and policies act nowhere. All of it is told.
func TestANamespaceThatIsNotAdmittedDoesNothing(t *testing.T) {
	t.Parallel()
	const policy = `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: slow, namespace: a}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: evil}, default: {http: {requestTimeout: 7s}}}]}}`
	const mesh = `{type: Mesh, name: default, tenancy: {namespaces: [b, "team-*"]}}`
	m, notes := compiled(t, mesh, tenants, proxy("a", "steal", "api.stripe.com", "evil"), policy)
	if got := leads(t, m, "bank", "api.stripe.com"); got != "passes" {
		t.Errorf("a host of a namespace outside moves calls to %s", got)
	}
	for r := range m.Dataplanes("default") {
		if r.Ref.Name == "evil" {
			t.Error("a dataplane of a namespace outside is served")
		}
	}
	if _, ok := m.Destination("default", "evil.a:80"); ok {
		t.Error("a service of a namespace outside can be called")
	}
	told := map[string]bool{}
	for _, n := range notes {
		if n.Code == index.CodeNotAdmitted {
			told[n.Origin.Ref.Kind] = true
		}
	}
	for _, kind := range []string{"Dataplane", "MeshService", "HTTPProxy", "MeshTimeout"} {
		if !told[kind] {
			t.Errorf("the %s of a is not told of: %v", kind, notes)
		}
	}
	all := map[string]bool{}
	for n := range m.Reader(nil).AllNoted() {
		all[n.Origin.Ref.Kind+n.Code] = true
	}
	if !all["Dataplane"+index.CodeNotAdmitted] || !all["MeshService"+index.CodeNotAdmitted] {
		t.Errorf("asking for all notes says less: %v", all)
	}
}

// A change of tenancy is followed: whatever it was before, there is what a fresh start has.
func TestTenancyIsFollowed(t *testing.T) {
	t.Parallel()
	const edge = `{type: Dataplane, name: edge, mesh: default, labels: {k8s.kuma.io/namespace: a}, networking: {address: 10.1.0.9, gateway: {type: BUILTIN, listeners: [{port: 8080}, {port: 8443, protocol: https}]}}}`
	bank := strings.Replace(proxy("b", "bank", "bank.example.com", "bank"), `fqdn: "bank.example.com"`, `fqdn: "bank.example.com", tls: {secretName: bank-tls}`, 1)
	classed := strings.Replace(proxy("b", "classed", "classed.example.com", "bank"), "namespace: b", "namespace: b, annotations: {kubernetes.io/ingress.class: other}", 1)
	rest := []string{tenants, edge, bank, classed, certs.New(t, "bank.example.com").Secret("b", "bank-tls"), group("a", "steal", "bank.example.com", "evil"), proxy("a", "stripe", "api.stripe.com", "evil")}
	meshes := []string{
		`{type: Mesh, name: default}`, `{type: Mesh, name: default, tenancy: {namespaces: [b]}}`, `{type: Mesh, name: default, tenancy: {edges: [a]}}`, `{type: Mesh, name: default, tenancy: {ingressClasses: []}}`,
		owned(""), owned(`{namespaces: [a], hosts: [api.stripe.com]}`), owned(`{namespaces: ["*"], hosts: ["*"]}`),
	}
	for _, from := range meshes {
		was, _ := compiled(t, append([]string{from}, rest...)...)
		for _, to := range meshes {
			want, _ := compiled(t, append([]string{to}, rest...)...)
			ref := api.Ref{Kind: api.KindMesh, Name: "default"}
			before, _ := was.Written().Get(ref)
			after, _ := want.Written().Get(ref)
			changes := []snapshot.Change{{Before: before, After: after}}
			got, _ := was.Update(was.Written().With(2, changes), changes)
			if diff := cmp.Diff(told(want), told(got)); diff != "" {
				t.Errorf("from %s to %s (-fresh +followed):\n%s", from, to, diff)
			}
		}
	}
}

// told is what dataplanes have in a model, and what there is to say.
func told(m *resolve.Model) (out []string) {
	for r := range m.Dataplanes("default") {
		out = append(out, r.Ref.String())
		for _, o := range r.Outbounds {
			line := fmt.Sprint(o.Address, " ", o.Port, " ", o.Destination.ID, " ", o.Edge)
			if o.Table != nil {
				for _, x := range o.Table.Routes {
					line += fmt.Sprint(" ", x.Origins)
					for _, b := range x.Backends {
						line += " " + b.Cluster
					}
				}
			}
			out = append(out, line)
		}
		for _, s := range r.Secrets {
			out = append(out, s.Name)
		}
		for _, n := range m.Hostnames("default", m.CallsAs(r.Ref), nil).List {
			out = append(out, fmt.Sprint(n))
		}
	}
	for d := range m.Destinations("default") {
		out = append(out, d.ID)
	}
	for n := range m.Notes() {
		out = append(out, n.Origin.Ref.String()+" "+n.Code+" "+n.Message)
	}
	return out
}

// A route of an ingress class that is not served acts nowhere and is told of as information; where
// no classes are named it is served, with a warning. One host in two classes is that of the class
// that is served.
func TestIngressClasses(t *testing.T) {
	t.Parallel()
	const internal = `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: int, namespace: b}, spec: {ingressClassName: internal, virtualhost: {fqdn: app.example.com}, routes: [{services: [{name: bank, port: 80}]}]}}`
	public := func(kind, annotations string) string {
		text := proxy("b", "ext", "app.example.com", "evil-not-there")
		if kind == "RouteGroup" {
			text = group("b", "ext", "app.example.com", "evil-not-there")
		}
		return strings.Replace(text, "namespace: b", "namespace: b, annotations: {"+annotations+"}", 1)
	}
	for _, c := range []struct{ mesh, other, leads, code string }{
		{`{type: Mesh, name: default}`, "", "bank.b:80", conditions.CodeAnyClass},
		{`{type: Mesh, name: default, tenancy: {ingressClasses: [internal]}}`, public("HTTPProxy", "projectcontour.io/ingress.class: public"), "bank.b:80", index.CodeOtherClass},
		{`{type: Mesh, name: default, tenancy: {ingressClasses: [internal]}}`, public("HTTPProxy", "kubernetes.io/ingress.class: public"), "bank.b:80", index.CodeOtherClass},
		{`{type: Mesh, name: default, tenancy: {ingressClasses: [internal]}}`, public("RouteGroup", "zalando.org/routegroup.class: public"), "bank.b:80", index.CodeOtherClass},
		// The field is stronger than annotations, and Contour's than the common one.
		{`{type: Mesh, name: default, tenancy: {ingressClasses: [internal]}}`, public("HTTPProxy", "projectcontour.io/ingress.class: public, kubernetes.io/ingress.class: internal"), "bank.b:80", index.CodeOtherClass},
		{`{type: Mesh, name: default, tenancy: {ingressClasses: [weft]}}`, "", "passes", index.CodeOtherClass},
		{`{type: Mesh, name: default, tenancy: {ingressClasses: []}}`, "", "passes", index.CodeOtherClass},
	} {
		texts := []string{c.mesh, tenants, internal}
		if c.other != "" {
			texts = append(texts, c.other)
		}
		m, notes := compiled(t, texts...)
		if got := leads(t, m, "bank", "app.example.com"); got != c.leads {
			t.Errorf("%s beside %s: the host leads to %s, want %s", c.mesh, c.other, got, c.leads)
		}
		if !slices.ContainsFunc(notes, func(n api.Note) bool { return n.Code == c.code }) {
			t.Errorf("%s: no note %s: %v", c.mesh, c.code, notes)
		}
		for o := range m.Snapshot().Of("HTTPProxy", "default") { // whose status is another controller's where it is not served
			if served := o.Name == "int" && c.leads == "bank.b:80"; m.Serves(o) != served {
				t.Errorf("%s: the route %s is served: %v", c.mesh, o.Name, !served)
			}
		}
		for o := range m.Snapshot().Of(api.KindDataplane, "default") {
			if !m.Serves(o) {
				t.Errorf("%s: %s, which has no class, is another controller's", c.mesh, o.Ref)
			}
		}
	}
}

// Whose edges may not show a certificate is told at the edge and at the route, with what to do.
func TestACertificateThatIsNotShownIsTold(t *testing.T) {
	t.Parallel()
	pair := certs.New(t, "bank.example.com")
	const edge = `{type: Dataplane, name: edge, mesh: default, labels: {k8s.kuma.io/namespace: a}, networking: {address: 10.1.0.9, gateway: {type: BUILTIN, listeners: [{port: 8443, protocol: https}]}}}`
	bank := strings.Replace(proxy("b", "bank", "bank.example.com", "bank"), `fqdn: "bank.example.com"`, `fqdn: "bank.example.com", tls: {secretName: bank-tls}`, 1)
	for mesh, told := range map[string]bool{
		`{type: Mesh, name: default}`:                                             true,
		`{type: Mesh, name: default, tenancy: {edges: [a]}}`:                      false,
		`{type: Mesh, name: default, tenancy: {edges: ["a*", c]}}`:                false,
		owned(`{namespaces: [b], hosts: [bank.example.com]}`):                     true,
		`{type: Mesh, name: default, tenancy: {edges: [b], hosts: {mode: Open}}}`: true,
	} {
		m, notes := compiled(t, mesh, tenants, edge, bank, pair.Secret("b", "bank-tls"))
		at := map[string]bool{}
		for _, n := range notes {
			if n.Code == index.CodeCertificateKept {
				at[n.Origin.Ref.Kind] = strings.Contains(n.Message, "tenancy.edges")
			}
		}
		if at["Dataplane"] != told || at["HTTPProxy"] != told {
			t.Errorf("%s: told %v, want %v: %v", mesh, at, told, notes)
		}
		r, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "edge"})
		if !ok || len(r.Secrets) > 0 == told {
			t.Errorf("%s: the edge is given %v", mesh, r.Secrets)
		}
	}
}
