package pods_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/resolve/pods"
)

// injected is a pod of namespace on, as a cluster has it: with a sidecar, an address and
// one container that declares port 8080. The lines of a case come after, and win.
const injected = `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: on, uid: u-1, labels: {app: a}%s}
spec:
  containers:
  - {name: app, ports: [{name: %s, containerPort: 8080, protocol: %s}]}
  - {name: weft-sidecar, env: [{name: WEFT_MESH, value: default}]}
  initContainers: [{name: weft-init, args: [--inbound-port=15006, --outbound-port=15001, --ip-family-mode=dualstack]}]
status: {phase: Running, podIP: 10.0.0.1, containerStatuses: [{name: app, ready: %t}, {name: weft-sidecar, ready: %t}]}
`

func pod(more string) string { return fmt.Sprintf(injected, more, "main", "TCP", true, true) }

func service(name, ports string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: on}\nspec: {selector: {app: a}, ports: [%s]}\n", name, ports)
}

const owned = ", ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, uid: x, controller: true}]"

// rows are those of spec/kubernetes.md 8 about Dataplanes, with the numbers that they have
// there: documents, and what the Dataplane of the pod says.
var rows = []struct {
	row, name, docs string
	want            []string
}{
	{"29", "a port of a Service", pod("") + service("a", "{port: 80, targetPort: 8080}"),
		[]string{"in 8080 main tcp Ready kuma.io/service=a_on_svc_80"}},
	{"30", "a name that only a port of UDP has", fmt.Sprintf(injected, "", "web", "UDP", true, true) + service("a", "{port: 80, targetPort: web}"),
		[]string{"in 49151 49151 tcp Ready kuma.io/service=p_on_svc kuma.io/instance=p", "warning PortNotFound Service a spec.ports[0].targetPort"}},
	{"31", "two Services on one port, one says a protocol", pod("") + service("a", "{port: 80, targetPort: 8080, appProtocol: http}") + service("b", "{port: 81, targetPort: 8080}"),
		[]string{"in 8080 main http Ready kuma.io/service=a_on_svc_80", "in 8080 main http Ready kuma.io/service=b_on_svc_81"}},
	{"31", "two Services on one port that say different ones", pod("") + service("a", "{port: 80, targetPort: 8080, appProtocol: http}") + service("b", "{port: 81, targetPort: 8080, appProtocol: grpc}"),
		[]string{"in 8080 main tcp Ready kuma.io/service=a_on_svc_80", "in 8080 main tcp Ready kuma.io/service=b_on_svc_81",
			"error ProtocolConflict Service a spec.ports[0]", "error ProtocolConflict Service b spec.ports[0]"}},
	{"32", "no selector, a slice with the UID", pod("") + slice("u-1"), []string{"in 8080 main tcp Ready kuma.io/service=a_on_svc_80"}},
	{"32", "no selector, a slice with another UID", pod("") + slice("u-2"), []string{"in 49151 49151 tcp Ready kuma.io/service=p_on_svc kuma.io/instance=p"}},
	{"33", "a Deployment without a Service", strings.Replace(pod(fmt.Sprintf(owned, "ReplicaSet", "web-5d")), "{app: a}", `{app: a, e: ""}`, 1) + owner("apps/v1", "ReplicaSet", "web-5d", "Deployment", "web"),
		[]string{"in 49151 49151 tcp Ready kuma.io/service=web_on_svc kuma.io/instance=p"}},
	{"33", "a Deployment whose ReplicaSet nobody has seen", strings.Replace(pod(fmt.Sprintf(owned, "ReplicaSet", "web-5d")), "{app: a}", "{pod-template-hash: 5d}", 1),
		[]string{"in 49151 49151 tcp Ready kuma.io/service=web_on_svc kuma.io/instance=p"}},
	{"34", "the app is not ready", fmt.Sprintf(injected, "", "main", "TCP", false, true) + service("a", "{port: 80, targetPort: 8080}"),
		[]string{"in 8080 main tcp NotReady kuma.io/service=a_on_svc_80"}},
	{"34", "the sidecar is not ready", fmt.Sprintf(injected, "", "main", "TCP", true, false) + service("a", "{port: 80, targetPort: 8080}"),
		[]string{"in 8080 main tcp NotReady kuma.io/service=a_on_svc_80"}},
	{"34", "the pod terminates", pod(`, deletionTimestamp: "2026-01-01T00:00:00Z"`) + service("a", "{port: 80, targetPort: 8080}"),
		[]string{"in 8080 main tcp NotReady kuma.io/service=a_on_svc_80"}},
	{"35", "a CronJob", pod(fmt.Sprintf(owned, "Job", "nightly-1")) + owner("batch/v1", "Job", "nightly-1", "CronJob", "nightly"),
		[]string{"in 49151 49151 tcp Ready kuma.io/service=nightly_on_svc kuma.io/instance=p"}},
	{"36", "phase Failed", strings.Replace(pod(""), "Running", "Failed", 1), nil},
	{"36", "no pod IP", strings.Replace(pod(""), "podIP: 10.0.0.1, ", "", 1), nil},
	{"37", "labels that are computed", strings.Replace(pod(""), "{app: a}", "{k8s.kuma.io/service-account: root, kuma.io/workload: x}", 1),
		[]string{"in 49151 49151 tcp Ready kuma.io/service=p_on_svc kuma.io/instance=p", "label k8s.kuma.io/service-account=default", "label kuma.io/workload=default"}},
	{"38", "the name of a port", pod("") + service("a", "{name: grpc-api, port: 80, targetPort: 8080}"), []string{"in 8080 main grpc Ready kuma.io/service=a_on_svc_80"}},
	{"38", "a name and an annotation", pod("") + strings.Replace(service("a", "{name: http-alt, port: 80, targetPort: 8080}"), "namespace: on", "namespace: on, annotations: {80.service.kuma.io/protocol: tcp}", 1),
		[]string{"in 8080 main tcp Ready kuma.io/service=a_on_svc_80"}},
	{"38", "an appProtocol that is not known", pod("") + service("a", "{name: http, port: 80, targetPort: 8080, appProtocol: foo}"), []string{"in 8080 main tcp Ready kuma.io/service=a_on_svc_80"}},
	{"39", "kubernetes.io/h2c", pod("") + service("a", "{port: 80, targetPort: 8080, appProtocol: kubernetes.io/h2c}"), []string{"in 8080 main http2 Ready kuma.io/service=a_on_svc_80"}},
	{"39", "HTTP", pod("") + service("a", "{port: 80, targetPort: 8080, appProtocol: HTTP}"), []string{"in 8080 main http Ready kuma.io/service=a_on_svc_80"}},
	{"39", "https", pod("") + service("a", "{port: 80, targetPort: 8080, appProtocol: https}"), []string{"in 8080 main tcp Ready kuma.io/service=a_on_svc_80"}},

	{"2.4", "UDP, an ignored Service and a name elsewhere", pod("") + service("a", "{name: dns, port: 53, protocol: UDP}, {name: x, port: 54, protocol: SCTP}") +
		strings.Replace(service("b", "{port: 80, targetPort: 8080}"), "namespace: on", "namespace: on, annotations: {kuma.io/ignore: \"true\"}", 1) +
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: c, namespace: on}\nspec: {type: ExternalName, externalName: x.org, selector: {app: a}, ports: [{port: 80}]}\n",
		[]string{"in 49151 49151 tcp Ready kuma.io/service=p_on_svc kuma.io/instance=p", "info NotTCP Service a spec.ports"}},
	{"2.4", "a selector of an empty label that the pod lacks", pod("") + strings.Replace(service("a", "{port: 80, targetPort: 8080}"), "app: a", `app: a, e: ""`, 1),
		[]string{"in 49151 49151 tcp Ready kuma.io/service=p_on_svc kuma.io/instance=p"}},
	{"2.4", "a port that no container declares", pod("") + service("a", "{name: x, port: 80, targetPort: 9999}"), []string{"in 9999 x tcp Ready kuma.io/service=a_on_svc_80"}},
	{"2.7", "a headless Service", pod("") + strings.Replace(service("a", "{port: 80, targetPort: 8080}"), "selector", "clusterIP: None, selector", 1),
		[]string{"in 8080 main tcp Ready kuma.io/service=a_on_svc_80 kuma.io/instance=p"}},
	{"2.10", "a delegated gateway", pod(", annotations: {kuma.io/gateway: enabled}") + service("a", "{port: 80, targetPort: 8080, appProtocol: http}"), []string{"gateway DELEGATED kuma.io/service=a_on_svc_80 []"}},
	{"2.10", "a gateway that others provide", pod(", annotations: {kuma.io/gateway: provided}"+fmt.Sprintf(owned, "ReplicaSet", "web-5d")) + owner("apps/v1", "ReplicaSet", "web-5d", "Deployment", "web"),
		[]string{"gateway DELEGATED kuma.io/service=web_on_svc []"}},
	{"2.10", "an edge", pod(", annotations: {kuma.io/gateway: builtin, weft.io/edge-listeners: \"80/http,8443/tls\"}"),
		[]string{"gateway BUILTIN kuma.io/service=p_on_svc [{80 http  <nil>} {8443 https  <nil>}]"}},
	{"2.10", "an edge with a listener that cannot be", pod(", annotations: {kuma.io/gateway: builtin, weft.io/edge-listeners: \"80/http,x/tls,90/udp\"}"),
		[]string{"gateway BUILTIN kuma.io/service=p_on_svc [{80 http  <nil>}]", "error InvalidAnnotation Pod p metadata.annotations[weft.io/edge-listeners]"}},
	{"2.12", "the network of the node", strings.Replace(pod(""), "spec:", "spec:\n  hostNetwork: true", 1), nil},
	{"7.1", "a mesh that was changed later", strings.Replace(pod(""), "{app: a}", "{kuma.io/mesh: other}", 1),
		[]string{"in 49151 49151 tcp Ready kuma.io/service=p_on_svc kuma.io/instance=p", "label kuma.io/mesh=default", "warning MeshChanged Pod p metadata.labels[kuma.io/mesh]"}},
	{"2.1", "no sidecar", strings.Replace(pod(""), "weft-sidecar", "other", 1), nil},
}

func slice(uid string) string {
	return "---\napiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: on}\nspec: {ports: [{port: 80, targetPort: 8080}]}\n" +
		"---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a-1, namespace: on, labels: {kubernetes.io/service-name: a}}\naddressType: IPv4\nendpoints: [{addresses: [10.0.0.1], targetRef: {kind: Pod, name: p, namespace: on, uid: " + uid + "}}]\nports: [{port: 8080}]\n"
}

func owner(version, kind, name, above, aboveName string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: on, ownerReferences: [{kind: %s, name: %s}]}\n", version, kind, name, above, aboveName)
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, c := range rows {
		t.Run(c.row+" "+c.name, func(t *testing.T) {
			t.Parallel()
			got, notes := pods.Dataplane(around(t, c.docs))
			var labels []string
			for _, w := range c.want {
				if name, ok := strings.CutPrefix(w, "label "); ok {
					labels = append(labels, name[:strings.Index(name, "=")])
				}
			}
			if lines := said(got, notes, labels...); !slices.Equal(lines, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// around reads documents: the pod, and what is around it.
func around(t *testing.T, docs string) (*api.Object, pods.Around) {
	t.Helper()
	objects, err := decode.Objects(api.NewCatalog(api.Types()...), "docs.yaml", []byte(docs))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	var pod *api.Object
	a := pods.Around{Zone: "z", Owner: func(kind, name string) *api.Object {
		for _, o := range objects {
			if o.Kind == kind && o.Name == name {
				return o
			}
		}
		return nil
	}}
	for _, o := range objects {
		switch o.Kind {
		case api.KindPod:
			pod = o
		case api.KindService:
			a.Services = append(a.Services, o)
		case api.KindEndpointSlice:
			a.Slices = append(a.Slices, o)
		}
	}
	return pod, a
}

// said is a Dataplane and notes on it, line by line: of labels and tags what tells cases apart.
func said(o *api.Object, notes []api.Note, labels ...string) []string {
	var out []string
	if o != nil {
		net := o.Spec.(*api.Dataplane).Networking
		for _, in := range net.Inbound {
			out = append(out, strings.TrimSpace(fmt.Sprintf("in %d %s %s %s kuma.io/service=%s %s", in.Port, in.Name, in.Protocol, in.State, in.Tags[api.TagService], pair(in.Tags, "kuma.io/instance"))))
		}
		if g := net.Gateway; g != nil {
			out = append(out, fmt.Sprintf("gateway %s kuma.io/service=%s %v", g.Type, g.Tags[api.TagService], g.Listeners))
		}
		for _, k := range labels {
			out = append(out, "label "+pair(o.Labels, k))
		}
	}
	for _, n := range notes {
		out = append(out, fmt.Sprintf("%s %s %s %s %s", n.Severity, n.Code, n.Origin.Kind, n.Origin.Name, n.Field))
	}
	return out
}

func pair(of map[string]string, k string) string {
	if v, ok := of[k]; ok {
		return k + "=" + v
	}
	return ""
}

// TestTags holds spec/kubernetes.md 2.2 and 2.7: what of a pod becomes tags, and which labels win.
func TestTags(t *testing.T) {
	t.Parallel()
	p, a := around(t, strings.Replace(pod(""), "{app: a}", `{app: a, e: "", team.kuma.io/x: "1", kuma.io/zone: far, kuma.io/display-name: other}`, 1)+service("a", "{port: 80, targetPort: 8080}"))
	a.Node = &api.Object{Ref: api.Ref{Kind: api.KindNode, Name: "n"}, Labels: map[string]string{"kubernetes.io/hostname": "n", "topology.kubernetes.io/zone": "west", "other": "x"}}
	got, _ := pods.Dataplane(p, a)
	wantTags := map[string]string{"app": "a", "kubernetes.io/hostname": "n", "topology.kubernetes.io/zone": "west", "k8s.kuma.io/namespace": "on",
		"k8s.kuma.io/service-name": "a", "k8s.kuma.io/service-port": "80", "kuma.io/service": "a_on_svc_80", "kuma.io/protocol": "tcp", "kuma.io/zone": "z"}
	if diff := cmp.Diff(wantTags, got.Spec.(*api.Dataplane).Networking.Inbound[0].Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	labels := api.LabelsOf(got, api.Zone{Name: "z"}.Labels())
	want := map[string]string{"app": "a", "e": "", "team.kuma.io/x": "1", "kuma.io/mesh": "default", "kuma.io/zone": "z", "kuma.io/origin": "zone", "kuma.io/env": "kubernetes",
		"kuma.io/proxy-type": "sidecar", "kuma.io/display-name": "p", "kuma.io/workload": "default", "k8s.kuma.io/namespace": "on", "k8s.kuma.io/service-account": "default"}
	if diff := cmp.Diff(want, labels.All()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// TestFamilies holds spec/kubernetes.md 2.3: a pod serves at all its addresses, and its
// traffic is redirected as weft-init was told, of the families that the pod has.
func TestFamilies(t *testing.T) {
	t.Parallel()
	const args = "--inbound-port=15006, --outbound-port=15001, --ip-family-mode=dualstack"
	for _, c := range []struct{ name, ips, args, mode, at string }{
		{"one address", "podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}]", args, "IPv4", "[]"},
		{"two", "podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: \"fd00::1\"}]", args, "DualStack", "[ fd00::1]"},
		{"IPv6 alone", "podIP: \"fd00::1\", podIPs: [{ip: \"fd00::1\"}]", args, "IPv6", "[]"},
		{"IPv4 asked", "podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: \"fd00::1\"}]", "--inbound-port=16006, --ip-family-mode=ipv4", "IPv4", "[ fd00::1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, a := around(t, strings.NewReplacer("podIP: 10.0.0.1", c.ips, args, c.args).Replace(pod(""))+service("a", "{port: 80, targetPort: 8080}"))
			got, _ := pods.Dataplane(p, a)
			net := got.Spec.(*api.Dataplane).Networking
			var at []string
			for _, in := range net.Inbound {
				at = append(at, in.Address)
			}
			if tp := net.TransparentProxying; tp.IPFamilyMode != c.mode || strings.Contains(c.args, "16006") != (tp.RedirectPortInbound == 16006) || fmt.Sprint(at) != c.at {
				t.Errorf("%+v, inbounds at %q", tp, at)
			}
		})
	}
}

// TestDocuments holds spec/kubernetes.md 2.13: a pod that no cluster runs is ready, and
// has an address that follows from its name.
func TestDocuments(t *testing.T) {
	t.Parallel()
	document := strings.NewReplacer(", uid: u-1", "", "status:", "x:").Replace(pod(""))
	p, a := around(t, document+service("a", "{port: 80, targetPort: 8080}"))
	got, _ := pods.Dataplane(p, a)
	net := got.Spec.(*api.Dataplane).Networking
	ip := netip.MustParseAddr(net.Address)
	if !netip.MustParsePrefix("198.18.0.0/15").Contains(ip) || net.Inbound[0].State != "Ready" {
		t.Errorf("%s %s", ip, net.Inbound[0].State)
	}
	if ip.String() != "198.18.183.167" { // a release that made another of it would move each such pod
		t.Errorf("the address is %s", ip)
	}
	p.Name = "q"
	again, _ := pods.Dataplane(p, a)
	if again.Spec.(*api.Dataplane).Networking.Address == net.Address {
		t.Error("two pods have one address")
	}
}
