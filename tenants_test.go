package weft_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// twoTenants are namespaces a and b, with a pod behind a Service each, and a route and a
// policy of b's.
const twoTenants = `
{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {kuma.io/sidecar-injection: enabled}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: b, labels: {kuma.io/sidecar-injection: enabled}}}
---
{apiVersion: v1, kind: Service, metadata: {name: a, namespace: a}, spec: {clusterIP: 10.96.0.1, selector: {app: a}, ports: [{name: http, port: 80, targetPort: 8080, appProtocol: http}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: b, namespace: b}, spec: {clusterIP: 10.96.0.2, selector: {app: b}, ports: [{name: http, port: 80, targetPort: 8080, appProtocol: http}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a-1, namespace: a, labels: {app: a}}, spec: {containers: [{name: app, ports: [{containerPort: 8080}]}]}, status: {podIP: 10.1.0.1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b-1, namespace: b, labels: {app: b}}, spec: {containers: [{name: app, ports: [{containerPort: 8080}]}]}, status: {podIP: 10.1.0.2}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshHTTPRoute, metadata: {name: route, namespace: b}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: b}, rules: [
{matches: [{path: {type: PathPrefix, value: /b}}], default: {backendRefs: [{kind: MeshService, name: b, port: 80}]}}]}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: vms, namespace: b}, spec: {selector: {dataplaneTags: {app: b}}, ports: [{port: 90, targetPort: 8080, appProtocol: http}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: labelled, namespace: b}, spec: {selector: {dataplaneLabels: {matchLabels: {app: b}}}, ports: [{port: 90, targetPort: 8080, appProtocol: http}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: classic, namespace: b}, spec: {selector: {dataplaneTags: {kuma.io/service: b_b_svc_80}}, ports: [{port: 90, targetPort: 8080, appProtocol: http}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: shop, namespace: b}, spec: {virtualhost: {fqdn: shop.example}, routes: [{conditions: [{prefix: /}], services: [{name: b, port: 80}]}]}}
---
{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: group, namespace: b}, spec: {hosts: [group.example], backends: [{name: b, type: service, serviceName: b, servicePort: 80}], defaultBackends: [{backendName: b}], routes: [{path: /}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: b}, spec: {gatewayClassName: weft, listeners: [{name: http, port: 80, protocol: HTTP, hostname: gate.example}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: gate, namespace: b}, spec: {parentRefs: [{name: edge}], hostnames: [gate.example], rules: [{backendRefs: [{name: b, port: 80}]}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: timeout, namespace: b}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: b}, default: {http: {requestTimeout: 7s}}}]}}
`

// TestAnEditInOneNamespaceChangesNoByteOfAnother: whatever the people of namespace a write
// that is not about their own services, the sidecars of b are given the same bytes (spec/threats.md
// T10; what a says about its own services is for its callers everywhere).
func TestAnEditInOneNamespaceChangesNoByteOfAnother(t *testing.T) {
	t.Parallel()
	editsOfA(t, "", aboutOthers)
}

// TestWhereHostsAreOwnedNoHostOfOneNamespaceReachesAnother: with Mesh.tenancy.hosts Owned and no
// grant that holds of the people of namespace a, they may claim any host, also those of b's routes and
// those that nobody has: the sidecars of b keep every host and name that they had, and get no other.
func TestWhereHostsAreOwnedNoHostOfOneNamespaceReachesAnother(t *testing.T) {
	t.Parallel()
	const mesh = `{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: default}, spec: {tenancy: {hosts: {mode: Owned, grants: [{namespaces: [b], hosts: [granted.example]}]}}}}
---
{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: granted, namespace: b}, spec: {hosts: [granted.example], backends: [{name: b, type: service, serviceName: b, servicePort: 80}], defaultBackends: [{backendName: b}], routes: [{path: /}]}}
---
`
	editsOfA(t, mesh, func(given, before map[string]string) map[string]string {
		out := aboutOthers(given, before)
		for name, content := range given {
			if (strings.HasPrefix(name, "host ") || strings.HasPrefix(name, "name ")) && !ofNamespaceA(name) {
				out[name] = content
			}
		}
		return out
	}, "shop.example", "group.example", "gate.example", "granted.example", "*.granted.example", "api.stripe.com")
}

// ofNamespaceA reports whether a name says that it is of a service of namespace a.
func ofNamespaceA(name string) bool {
	return strings.HasSuffix(name, ".a") || strings.Contains(name, ".a.") || strings.Contains(name, ".a:")
}

// editsOfA holds that whatever a writes, what b is given is the same, as far as given keeps it.
func editsOfA(t *testing.T, mesh string, kept func(given, before map[string]string) map[string]string, hosts ...string) {
	written, found := world.Decode("", []byte(mesh+twoTenants))
	base, refused := admission.WithSidecars(world.Snapshot(), written)
	if len(refused) > 0 || len(found) > 0 {
		t.Fatal(found, refused)
	}
	renderer, acted := xds.NewRenderer(world.Kinds()), 0
	of := func(objects []*api.Object) map[string]map[string]string {
		m, _ := world.Compile(world.Snapshot(objects...))
		out := map[string]map[string]string{}
		for r := range m.Dataplanes("") {
			given := byHost(t, renderer.Render(r))
			for _, name := range m.Hostnames(r.Ref.Mesh, m.CallsAs(r.Ref), nil).List {
				given["name "+name.Name] = fmt.Sprint(name.Addresses, name.Last)
			}
			out[r.Ref.Namespace] = given
		}
		return out
	}
	before := of(base)
	if len(before["a"]) == 0 || len(before["b"]) == 0 {
		t.Fatal("the pods have no sidecars")
	}
	rapid.Check(t, func(t *rapid.T) {
		objects, texts := append([]*api.Object{}, base...), []string{}
		for i := range rapid.IntRange(1, 4).Draw(t, "documents") {
			text := tenantDocument(t, fmt.Sprint("d", i), hosts...)
			got, _ := decode.Objects(world.Catalog(), "", []byte(text)) // what is refused is not there
			objects, texts = append(objects, got...), append(texts, text)
		}
		after := of(objects)
		if diff := cmp.Diff(kept(before["b"], before["b"]), kept(after["b"], before["b"])); diff != "" {
			t.Fatalf("%v\nchange what b has (-before +after):\n%s", texts, diff)
		}
		if !cmp.Equal(before["a"], after["a"]) {
			acted++
		}
	})
	if acted == 0 {
		t.Error("no document changed even what a has: the law says nothing")
	}
}

// byHost is what a sidecar is given, of hosts that share one table each by itself: the names of
// what is in another's keeping are common to all.
func byHost(t *testing.T, s *resource.State) map[string]string {
	out := versions(s)
	for _, r := range s.Routes {
		if !strings.Contains(r.Name, ":hosts:") {
			continue
		}
		delete(out, r.Type+" "+r.Name)
		table := new(routev3.RouteConfiguration)
		if err := r.Content().UnmarshalTo(table); err != nil {
			t.Fatal(err)
		}
		for _, host := range table.GetVirtualHosts() {
			for _, domain := range host.GetDomains() {
				out["host "+domain] = fmt.Sprint(host.GetRoutes())
			}
		}
	}
	return out
}

// aboutOthers is what a sidecar is given but for what a says about its own services, to their
// callers everywhere: new services of a, and where those send requests. What there was stays,
// and nothing comes to what is sent to the sidecar.
func aboutOthers(given, before map[string]string) map[string]string {
	out := maps.Clone(given)
	maps.DeleteFunc(out, func(name, _ string) bool {
		_, there := before[name]
		return strings.Contains(name, ".a:") || !there && !strings.Contains(name, "inbound:")
	})
	return out
}

// tenantDocument is something that lies in namespace a: what its people may write, and a Dataplane
// by hand, which a cluster's administrators write for them.
func tenantDocument(t *rapid.T, name string, hosts ...string) string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	labels := pick("labels", "", `"kuma.io/mesh":"default"`, `"k8s.kuma.io/namespace":"a"`, `"kuma.io/origin":"global"`, `"kuma.io/display-name":"route"`,
		`"k8s.kuma.io/namespace":"b"`, `"k8s.kuma.io/namespace":"weft-system"`, `"kuma.io/policy-role":"system"`, `"kuma.io/origin":"zone"`, `"kuma.io/origin":"zone","kuma.io/zone":"other","k8s.kuma.io/namespace":"b"`,
		`"kuma.io/managed-by":"k8s-controller","k8s.kuma.io/namespace":"b","k8s.kuma.io/service-name":"b","k8s.kuma.io/is-headless-service":"true"`)
	top := pick("top", `{"kind":"Mesh"}`, `{"kind":"Dataplane"}`, `{"kind":"Dataplane","labels":{"app":"b"}}`, `{"kind":"Dataplane","name":"b-1"}`, `{"kind":"Dataplane","name":"b-1","namespace":"b"}`,
		`{"kind":"Dataplane","labels":{"k8s.kuma.io/namespace":"b"}}`, `{"kind":"MeshHTTPRoute","name":"route"}`, `{"kind":"MeshHTTPRoute","name":"route","namespace":"b"}`,
		`{"kind":"MeshHTTPRoute","labels":{"kuma.io/display-name":"route"}}`, `{"kind":"MeshService","name":"b","namespace":"b"}`, `{"kind":"MeshSubset","tags":{"app":"b"}}`)
	to := pick("to", `{"kind":"Mesh"}`, `{"kind":"MeshService","name":"b"}`, `{"kind":"MeshService","name":"b","namespace":"b"}`, `{"kind":"MeshService","name":"b_b_svc_80"}`,
		`{"kind":"MeshService","labels":{"kuma.io/display-name":"b"}}`, `{"kind":"MeshService","labels":{"kuma.io/display-name":"b","k8s.kuma.io/namespace":"b"}}`, `{"kind":"MeshHTTPRoute","name":"route","namespace":"b"}`)
	head := func(version, kind string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"a","labels":{%s}},"spec":`, version, kind, name, labels)
	}
	policy := func(kind, conf string) string {
		return head("kuma.io/v1alpha1", kind) + pick("side", fmt.Sprintf(`{"targetRef":%s,"to":[{"targetRef":%s,"default":%s}]}}`, top, to, conf), fmt.Sprintf(`{"targetRef":%s,"rules":[{"default":%s}]}}`, top, conf))
	}
	parent := pick("parent", `{"group":"","kind":"Service","name":"b","namespace":"b"}`, `{"group":"","kind":"Service","name":"b"}`, `{"group":"kuma.io","kind":"MeshService","name":"b","namespace":"b"}`)
	tags := pick("tags", `"kuma.io/service":"b_b_svc_80"`, `"kuma.io/service":"d"`, `"kuma.io/service":"d","app":"b","k8s.kuma.io/namespace":"b"`, `"kuma.io/service":"b_b_svc_80","app":"b","k8s.kuma.io/namespace":"b","k8s.kuma.io/service-name":"b"`,
		`"kuma.io/service":"a_a_svc_80","app":"a","k8s.kuma.io/namespace":"a"`)
	// Which of two claims on one host holds is a rule of their language: here are hosts of nobody,
	// and names of b's services; those of b's routes where b has to grant them.
	host := pick("host", append([]string{"new.example", "*.example", "*", "b", "b.b", "b.b.svc", "b.b.svc.cluster.local", "*.b.svc.cluster.local", "b.mesh", "vms.mesh", "10.96.0.2", "a.a.svc.cluster.local"}, hosts...)...)
	granted := pick("host of another", "shop.example", "group.example", "gate.example", host)
	send := `{"path":{"type":"PathPrefix","value":"/a"}}`
	switch pick("kind", "Dataplane", "MeshService", "Pod", "Service", "MeshRetry", "MeshTimeout", "MeshRateLimit", "MeshHTTPRoute", "MeshTCPRoute", "HTTPRoute", "GRPCRoute", "Gateway", "HTTPProxy", "RouteGroup", "HTTPRoute of a host", "MeshExternalService") {
	case "Dataplane":
		return head("kuma.io/v1alpha1", "Dataplane") + fmt.Sprintf(`{"networking":{"address":"10.1.0.9","inbound":[{"port":8080,"tags":{%s}}]}}}`, tags)
	case "MeshService":
		return head("kuma.io/v1alpha1", "MeshService") + fmt.Sprintf(`{"selector":%s,"ports":[{"port":80,"targetPort":8080,"appProtocol":"http"}]}}`,
			pick("selector", `{"dataplaneTags":{`+tags+`}}`, `{"dataplaneRef":{"name":"b-1"}}`, `{"dataplaneRef":{"name":"b-1.b"}}`, `{"dataplaneLabels":{"matchLabels":{"app":"b"}}}`))
	case "Service":
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"namespace":"a","labels":{%s}},"spec":{"clusterIP":%q,"selector":{"app":%q},"ports":[{"port":80,"targetPort":8080,"appProtocol":"http"}]}}`,
			pick("service", "b", name), labels, pick("clusterIP", "10.96.0.9", "None"), pick("app", "a", "b"))
	case "Pod":
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"a","labels":{%s}},"spec":{"containers":[{"name":"app","ports":[{"containerPort":8080}]}]},"status":{"podIP":"10.1.0.9"}}`,
			pick("pod", "b-1", name), pick("pod labels", `"app":"b"`, `"app":"b","k8s.kuma.io/namespace":"b"`, `"app":"b","kuma.io/service":"b_b_svc_80"`, `"app":"a"`, `"app":"b","k8s.kuma.io/service-account":"b","kuma.io/workload":"b","k8s.kuma.io/namespace":"weft-system"`))
	case "MeshRetry":
		return policy("MeshRetry", `{"http":{"numRetries":2}}`)
	case "MeshTimeout":
		return policy("MeshTimeout", `{"http":{"requestTimeout":"1s"},"connectionTimeout":"2s"}`)
	case "MeshRateLimit":
		return policy("MeshRateLimit", `{"local":{"http":{"requestRate":{"num":1,"interval":"1s"}}}}`)
	case "MeshHTTPRoute":
		return head("kuma.io/v1alpha1", "MeshHTTPRoute") + fmt.Sprintf(`{"targetRef":%s,"to":[{"targetRef":%s,"rules":[{"matches":[%s],"default":{"backendRefs":[{"kind":"MeshService","name":"b","namespace":"b","port":80}]}}]}]}}`, top, to, send)
	case "MeshTCPRoute":
		return head("kuma.io/v1alpha1", "MeshTCPRoute") + fmt.Sprintf(`{"targetRef":%s,"to":[{"targetRef":%s,"rules":[{"default":{"backendRefs":[{"kind":"MeshService","name":"b","namespace":"b","port":80}]}}]}]}}`, top, to)
	case "MeshExternalService":
		return strings.Replace(head("kuma.io/v1alpha1", "MeshExternalService"), fmt.Sprintf("%q", name), fmt.Sprintf("%q", pick("external", "b", "vms", "shop", name)), 1) +
			`{"match":{"type":"HostnameGenerator","port":80,"protocol":"http"},"endpoints":[{"address":"10.9.9.9","port":80}]}}`
	case "Gateway":
		return head("gateway.networking.k8s.io/v1", "Gateway") + fmt.Sprintf(`{"gatewayClassName":"weft","listeners":[{"name":"http","port":80,"protocol":"HTTP","hostname":%q}]}}`, host)
	case "HTTPProxy":
		return head("projectcontour.io/v1", "HTTPProxy") + pick("proxy", fmt.Sprintf(`{"virtualhost":{"fqdn":%q},`, host), `{`) + pick("leads",
			`"includes":[{"name":"shop","namespace":"b","conditions":[{"prefix":"/a"}]}]}}`, `"routes":[{"conditions":[{"prefix":"/a"}],"services":[{"name":"a","port":80}]}]}}`, `"tcpproxy":{"services":[{"name":"a","port":80}]}}}`)
	case "RouteGroup":
		return head("zalando.org/v1", "RouteGroup") + fmt.Sprintf(`{"hosts":[%q],"backends":[{"name":"x","type":"service","serviceName":%q,"servicePort":80}],"defaultBackends":[{"backendName":"x"}],"routes":[{"pathSubtree":"/a"}]}}`, host, pick("service of the group", "a", "b"))
	case "HTTPRoute of a host":
		return head("gateway.networking.k8s.io/v1", "HTTPRoute") + fmt.Sprintf(`{"parentRefs":[%s],"rules":[{"matches":[%s],"backendRefs":[%s]}]}}`,
			pick("parent of the host", fmt.Sprintf(`{"name":"edge","namespace":"b"}],"hostnames":[%q`, granted), fmt.Sprintf(`%s],"hostnames":[%q`, parent, granted), fmt.Sprintf(`{"name":"d0"}],"hostnames":[%q`, host), fmt.Sprintf(`{"name":"d1"}],"hostnames":[%q`, host)), send, pick("backend", `{"name":"b","namespace":"b","port":80}`, `{"name":"a","port":80}`))
	case "GRPCRoute":
		return head("gateway.networking.k8s.io/v1", "GRPCRoute") + fmt.Sprintf(`{"parentRefs":[%s],"rules":[{"backendRefs":[{"name":"b","namespace":"b","port":80}]}]}}`, parent)
	}
	return head("gateway.networking.k8s.io/v1", "HTTPRoute") + fmt.Sprintf(`{"parentRefs":[%s],"rules":[{"matches":[%s],"backendRefs":[{"name":"b","namespace":"b","port":80}]}]}}`, parent, send)
}
