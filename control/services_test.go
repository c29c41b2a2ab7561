package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/kubetest"
)

const meshServices = "/apis/kuma.io/v1alpha1/namespaces/shop/meshservices"

// field is the value below a document at fields and indexes.
func field(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// TestAPIServerGetsAMeshServiceForEachService: it follows the Service, is the same destination,
// and goes with it; one that somebody else wrote stays (row 45).
func TestAPIServerGetsAMeshServiceForEachService(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	create(t, c, "/api/v1/namespaces/shop/services", `{metadata: {name: a}, spec: {selector: {app: a}, ports: [{port: 80}]}}`)
	eventually(t, "MeshServices are served", func() bool {
		status, _ := c.Send(t, http.MethodPost, meshServices, kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: a}, spec: {selector: {dataplaneTags: {app: mine}}, ports: [{port: 80}]}}`))
		return status == http.StatusCreated || status == http.StatusConflict
	})
	p := start(t, replicated(t, c, "a"))
	eventually(t, "the replica leads", p.leads)
	if got := listed(t, c, meshServices); got != "a" {
		t.Errorf("a Service outside of the mesh has a MeshService: %s", got)
	}
	replace(t, c, "/api/v1/namespaces/shop", `[{"op": "add", "path": "/metadata/labels/kuma.io~1sidecar-injection", "value": "enabled"}]`)
	eventually(t, "the Service has a MeshService", func() bool { return listed(t, c, meshServices) == "a web" })
	service, made := read(t, c, "/api/v1/namespaces/shop/services/web"), read(t, c, meshServices+"/web")
	owner := field(made, "metadata", "ownerReferences", 0)
	if field(owner, "uid") != field(service, "metadata", "uid") || field(owner, "kind") != "Service" || field(owner, "controller") != true {
		t.Errorf("the owner: %v", owner)
	}
	labels := fmt.Sprint(field(made, "metadata", "labels"))
	for _, want := range []string{"k8s.kuma.io/is-headless-service:false", "k8s.kuma.io/namespace:shop", "k8s.kuma.io/service-name:web", "kuma.io/display-name:web",
		"kuma.io/env:kubernetes", "kuma.io/managed-by:k8s-controller", "kuma.io/mesh:default", "kuma.io/origin:zone", "kuma.io/zone:default"} {
		if !strings.Contains(labels, want) {
			t.Errorf("the labels lack %s: %s", want, labels)
		}
	}
	if got := fmt.Sprint(field(made, "spec")); got != "map[ports:[map[appProtocol:http name:http port:80 targetPort:8080]] selector:map[dataplaneTags:map[app:web k8s.kuma.io/namespace:shop]]]" {
		t.Error(got)
	}
	eventually(t, "it has the addresses of the Service, and counts", func() bool {
		s := field(read(t, c, meshServices+"/web"), "status")
		return field(s, "vips", 0, "ip") == field(service, "spec", "clusterIP") && field(s, "addresses", 0, "hostname") == "web.shop.svc.cluster.local" &&
			field(s, "dataplaneProxies", "total") == 1.0 && field(s, "dataplaneProxies", "healthy") == 1.0
	})
	c.Apply(t, kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: HostnameGenerator, metadata: {name: all, namespace: weft-system},
spec: {selector: {meshService: {matchLabels: {k8s.kuma.io/service-name: web}}}, template: "{{ .DisplayName }}.generated.mesh.local"}}`), "")
	eventually(t, "its status has what a generator makes", func() bool {
		s := field(read(t, c, meshServices+"/web"), "status")
		condition := field(s, "hostnameGenerators", 0, "conditions", 0)
		return strings.Contains(fmt.Sprint(field(s, "addresses")), "web.generated.mesh.local") && field(condition, "status") == "True" && field(condition, "lastTransitionTime") != nil
	})
	p.oneDestination()
	p.generators(c)
	p.headless(c)

	eventually(t, "an event says whose a is", func() bool {
		for _, e := range read(t, c, "/apis/events.k8s.io/v1/namespaces/shop/events")["items"].([]any) {
			if field(e, "reason") == "MeshServiceExists" && field(e, "regarding", "name") == "a" {
				return true
			}
		}
		return false
	})
	if got := fmt.Sprint(field(read(t, c, meshServices+"/a"), "spec", "selector")); got != "map[dataplaneTags:map[app:mine]]" {
		t.Errorf("somebody else's MeshService: %s", got)
	}
	replace(t, c, "/api/v1/namespaces/shop/services/web", `[{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 9090}]`)
	eventually(t, "it follows the Service", func() bool { return field(read(t, c, meshServices+"/web"), "spec", "ports", 0, "targetPort") == 9090.0 })
	remove(t, c, meshServices+"/a")
	eventually(t, "weft writes that of a as soon as nobody else has it", func() bool {
		status, got := c.Send(t, http.MethodGet, meshServices+"/a", nil)
		return status == http.StatusOK && field(got, "metadata", "labels", "kuma.io/managed-by") == "k8s-controller"
	})
	remove(t, c, meshServices+"/web")
	eventually(t, "it comes back", func() bool { return listed(t, c, meshServices) == "a web" })
	remove(t, c, "/api/v1/namespaces/shop/services/web")
	eventually(t, "it goes with the Service", func() bool { return listed(t, c, meshServices) == "a" })
}

// generators: a mesh, a generator of names and a service across zones say how they fare.
func (p *plane) generators(c *kubetest.Cluster) {
	p.t.Helper()
	const of = "/apis/kuma.io/v1alpha1/namespaces/weft-system/"
	create(p.t, c, of+"hostnamegenerators", `{apiVersion: kuma.io/v1alpha1, kind: HostnameGenerator, metadata: {name: clash}, spec: {selector: {meshService: {}}, template: "web.generated.mesh.local"}}`)
	create(p.t, c, of+"hostnamegenerators", `{apiVersion: kuma.io/v1alpha1, kind: HostnameGenerator, metadata: {name: idle}, spec: {selector: {meshService: {matchLabels: {no: such}}}, template: "x.mesh.local"}}`)
	create(p.t, c, of+"meshmultizoneservices", `{apiVersion: kuma.io/v1alpha1, kind: MeshMultiZoneService, metadata: {name: everywhere}, spec: {selector: {meshService: {matchLabels: {k8s.kuma.io/namespace: shop}}}, ports: [{port: 80, appProtocol: http}]}}`)
	says := func(path, condition, status, reason, message string) func() bool {
		return func() bool {
			var s told
			statusAt(p.t, c, path, &s)
			for _, x := range s.Conditions {
				if x.Type == condition {
					return x.Status == status && x.Reason == reason && strings.Contains(x.Message, message) && s.ObservedGeneration == 1
				}
			}
			return false
		}
	}
	eventually(p.t, "the generator says whom it names", says(of+"hostnamegenerators/all", "Generated", "True", "Generated", "services that have the name: 1"))
	if got := field(read(p.t, c, of+"hostnamegenerators/all"), "status", "services"); fmt.Sprint(got) != "map[named:1 total:1]" {
		p.t.Errorf("its counts: %v", got)
	}
	eventually(p.t, "one whose name another has says so", says(of+"hostnamegenerators/clash", "Generated", "False", "Collision", "web.generated.mesh.local is the name of "))
	eventually(p.t, "one that selects nothing says so", says(of+"hostnamegenerators/idle", "Generated", "False", "SelectsNothing", ""))
	eventually(p.t, "the mesh says that it holds", says(meshes+"/default", "Accepted", "True", "Accepted", "the document holds"))
	eventually(p.t, "the mesh counts its dataplanes", func() bool { return field(read(p.t, c, meshes+"/default"), "status", "dataplanes", "total") == 1.0 })
	eventually(p.t, "a service across zones says for what it stands", func() bool {
		return fmt.Sprint(field(read(p.t, c, of+"meshmultizoneservices/everywhere"), "status", "meshServices")) == "[map[mesh:default name:a namespace:shop zone:default]]"
	})
	eventually(p.t, "a service says what it is called", func() bool {
		message := field(read(p.t, c, meshServices+"/web"), "status", "hostnameGenerators", 0, "conditions", 0, "message")
		return strings.HasPrefix(fmt.Sprint(message), "it is called web.generated.mesh.local")
	})
	remove(p.t, c, of+"hostnamegenerators/clash")
}

// headless: each pod of a headless Service has a MeshService too, which goes with it.
func (p *plane) headless(c *kubetest.Cluster) {
	p.t.Helper()
	create(p.t, c, "/api/v1/namespaces/shop/services", `{metadata: {name: db}, spec: {clusterIP: None, selector: {app: web}, ports: [{name: tcp, port: 5432, targetPort: 8080}]}}`)
	create(p.t, c, "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices", `
metadata: {name: db-1, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
ports: [{name: tcp, port: 8080, protocol: TCP}]
endpoints: [{addresses: [198.51.100.9], conditions: {ready: true}, targetRef: {kind: Pod, name: web-1, namespace: shop}}]`)
	eventually(p.t, "the headless Service and its pod have MeshServices", func() bool {
		return strings.HasPrefix(listed(p.t, c, meshServices), "a db web web-1-")
	})
	one := strings.Fields(listed(p.t, c, meshServices))[3]
	made := read(p.t, c, meshServices+"/"+one)
	if owner := field(made, "metadata", "ownerReferences", 0); field(owner, "kind") != "Pod" || field(owner, "name") != "web-1" {
		p.t.Errorf("the owner: %v", owner)
	}
	if got := fmt.Sprint(field(made, "spec", "selector"), field(made, "metadata", "labels", "k8s.kuma.io/is-headless-service")); got != "map[dataplaneRef:map[name:web-1]]true" {
		p.t.Error(got)
	}
	eventually(p.t, "its address is the pod's", func() bool {
		return field(read(p.t, c, meshServices+"/"+one), "status", "vips", 0, "ip") == "198.51.100.9"
	})
	p.oneDestination()
	remove(p.t, c, "/api/v1/namespaces/shop/services/db")
	remove(p.t, c, "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/db-1")
	eventually(p.t, "they go with the Service", func() bool { return listed(p.t, c, meshServices) == "a web" })
}

// oneDestination: a Service and the MeshService of it are one.
func (p *plane) oneDestination() {
	p.t.Helper()
	for o := range p.Snapshot().OfKind(api.KindMeshService) {
		if o.Name != "a" {
			p.t.Errorf("%s is read as a document of its own", o.Ref)
		}
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Contains(text, "MeshService/default/shop/web") {
		p.t.Errorf("there is a problem with what weft has made: %s", text)
	}
}

func read(t testing.TB, c *kubetest.Cluster, path string) map[string]any {
	t.Helper()
	status, got := c.Send(t, http.MethodGet, path, nil)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %v", path, status, got["message"])
	}
	return got
}
