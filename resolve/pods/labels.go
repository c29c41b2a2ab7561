package pods

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// Labels that weft computes beside those of package api.
const (
	labelProxyType      = "kuma.io/proxy-type"
	labelWorkload       = "kuma.io/workload"
	labelServiceAccount = "k8s.kuma.io/service-account"
)

// shown are labels that whoever shows an object computes from it (api.LabelsOf).
var shown = []string{api.LabelOrigin, api.LabelZone, api.LabelDisplayName, api.LabelNamespace, api.LabelPolicyRole}

// labels are those of the pod, but for those that are computed (spec/kubernetes.md 2.2).
func (b *builder) labels(f *form) map[string]string {
	out := maps.Clone(b.pod.Labels)
	if out == nil {
		out = map[string]string{}
	}
	for _, k := range shown {
		delete(out, k)
	}
	account := cmp.Or(b.spec.Spec.ServiceAccountName, defaultObject)
	out[api.LabelMesh], out[api.LabelEnv] = f.mesh, api.EnvKubernetes
	out[labelWorkload], out[labelServiceAccount] = account, account
	out[labelProxyType] = "sidecar"
	if f.gateway != nil {
		out[labelProxyType] = "gateway"
	}
	return out
}

// The annotations of pods that say what their Dataplanes are.
const (
	annotationGateway   = "kuma.io/gateway"
	annotationEdge      = "weft.io/edge-listeners"
	annotationReachable = "kuma.io/reachable-backends"
	annotationServices  = "kuma.io/transparent-proxying-reachable-services"
	annotationDirect    = "kuma.io/direct-access-services"
)

// annotation is one of the pod, else of its namespace, with the object that says it.
func (b *builder) annotation(name string) (text string, by *api.Object) {
	if text = b.pod.Annotation(name); text != "" || b.around.Namespace == nil {
		return text, b.pod
	}
	return b.around.Namespace.Annotation(name), b.around.Namespace
}

// gateway makes a gateway of the pod where it asks for that: it has no inbounds then.
func (b *builder) gateway(f *form) {
	kind, _ := b.annotation(annotationGateway)
	switch kind {
	case "enabled", "true", "yes":
		tags := maps.Clone(f.inbounds[0].tags)
		tags[api.TagProtocol] = string(api.TCP)
		f.gateway = &api.Gateway{Type: "DELEGATED", Tags: tags}
	case "provided":
		f.gateway = &api.Gateway{Type: "DELEGATED", Tags: b.marker().tags}
	case "builtin":
		f.gateway = &api.Gateway{Type: "BUILTIN", Tags: b.marker().tags, Listeners: b.listeners()}
		delete(f.gateway.Tags, api.TagProtocol)
	default:
		return
	}
	f.inbounds = nil
}

// listeners are those that the pod itself asks for.
func (b *builder) listeners() []api.EdgeListener {
	text, by := b.annotation(annotationEdge)
	out, err := api.ParseEdgeListeners(text)
	if err != nil {
		b.malformed(by, annotationEdge, err)
	}
	return out
}

// malformed notes an annotation that injection would have refused.
func (b *builder) malformed(by *api.Object, name string, err error) {
	n := onPod(by, api.Error, "InvalidAnnotation", annotationPath(name), err.Error())
	b.notes = append(b.notes, n)
}

// redirected says how the traffic of the pod is redirected, as weft-init was told.
func (b *builder) redirected(f *form) {
	c := b.spec.Container(api.InitContainer)
	if c == nil {
		return
	}
	t := &api.TransparentProxying{RedirectPortInbound: inboundPort, RedirectPortOutbound: outboundPort, IPFamilyMode: "IPv4"}
	for _, arg := range c.Args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		n, err := strconv.ParseUint(value, 10, 16)
		switch {
		case name == "inbound-port" && err == nil:
			t.RedirectPortInbound = uint32(n)
		case name == "outbound-port" && err == nil:
			t.RedirectPortOutbound = uint32(n)
		case name == "ip-family-mode":
			t.IPFamilyMode = b.families(value)
		}
	}
	b.reaches(t)
	f.redirect = t
}

// families are those of redirected addresses, of which the pod has one: without one it
// could not listen there.
func (b *builder) families(asked string) string {
	six := func(ip string) bool { return strings.Contains(ip, ":") }
	others := otherAddresses(b.spec)
	switch {
	case asked == "ipv6" || asked == "dualstack" && six(b.spec.Status.PodIP) && len(others) == 0:
		return "IPv6"
	case asked == "dualstack" && (six(b.spec.Status.PodIP) || slices.ContainsFunc(others, six)):
		return "DualStack"
	}
	return "IPv4"
}

// reaches limits what the pod calls (spec/kubernetes.md 2.11).
func (b *builder) reaches(t *api.TransparentProxying) {
	if text, by := b.annotation(annotationReachable); text != "" {
		given := &api.ReachableBackends{}
		if err := decode.Into("", []byte(text), "", given); err != nil {
			for _, v := range api.Violations(err) {
				b.malformed(by, annotationReachable, fmt.Errorf("%s: %s, so the pod reaches everything", v.Field, v.Message))
			}
			given = nil
		}
		t.ReachableBackends = given
	}
	services, _ := b.annotation(annotationServices)
	if t.ReachableServices = names(services); len(t.ReachableServices) > 0 && t.ReachableBackends == nil {
		t.ReachableBackends = servicesNamed(t.ReachableServices)
	}
	direct, by := b.annotation(annotationDirect)
	if t.DirectAccessServices = names(direct); len(t.DirectAccessServices) > 0 {
		b.notes = append(b.notes, onPod(by, api.Warning, api.CodeUnsupported, annotationPath(annotationDirect), "weft gives no listener to each endpoint; call the service, or a pod of a headless one, and remove it"))
	}
}

// servicesNamed limits what is reached to services by their classic names; * is everything.
func servicesNamed(list []string) *api.ReachableBackends {
	if slices.Contains(list, "*") {
		return nil
	}
	out := &api.ReachableBackends{}
	for _, n := range list {
		out.Refs = append(out.Refs, api.OutboundRef{Kind: api.KindMeshService, Name: n})
	}
	return out
}

// names are those of a list with commas in between.
func names(text string) []string {
	var out []string
	for _, n := range strings.Split(text, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
