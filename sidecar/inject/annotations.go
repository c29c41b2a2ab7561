package inject

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// The annotations that injection writes.
const (
	annotationInjected   = "kuma.io/sidecar-injected"
	annotationUID        = "kuma.io/sidecar-uid"
	annotationAdminPort  = "kuma.io/envoy-admin-port"
	annotationProbePort  = "kuma.io/application-probe-proxy-port"
	annotationRedirected = "kuma.io/transparent-proxying"
	annotationInbound    = "kuma.io/transparent-proxying-inbound-port"
	annotationOutbound   = "kuma.io/transparent-proxying-outbound-port"
	annotationFamily     = "kuma.io/transparent-proxying-ip-family-mode"
	annotationInjectedBy = "weft.io/injected-by"
	annotationRules      = "weft.io/interception"
	annotationDefault    = "kubectl.kubernetes.io/default-container"
	annotationGateway    = "kuma.io/gateway"
)

// role is what injection does with an annotation.
type role int

const (
	sets    role = iota // read on the pod, else on the namespace
	written             // by injection; a pod may say the same, and nothing else
	ignored             // weft has no such thing, or does it otherwise
	aLabel              // read as a label only
	elsewhere
)

// Annotation is one that weft knows. All of them stand in one table, from which reading,
// advice about misspellings and the page docs/injection.md come.
type Annotation struct {
	Name  string
	Value string // its form, for people
	Means string
	role  role
	set   func(*settings, string) error
}

// Read reports whether an annotation on the pod, or else on its namespace, is read.
func (a Annotation) Read() bool { return a.role == sets }

// Annotations are all that weft knows, by name (spec/kubernetes.md 4.5).
func Annotations() []Annotation {
	out := slices.Clone(annotations)
	slices.SortFunc(out, func(a, b Annotation) int { return strings.Compare(a.Name, b.Name) })
	return out
}

const (
	formBool  = "true, false (enabled, disabled, yes, no)"
	formPorts = "ports and ranges: 80,8000-8010"
	formIPs   = "addresses and prefixes: 10.0.0.0/8,fd00::1"
)

var annotations = []Annotation{
	{annotationGateway, "enabled, disabled, provided, builtin", "the pod takes requests from outside: no inbound redirection, probes stay", sets, (*settings).setGateway},
	{"kuma.io/sidecar-env-vars", "A=1;B=2", "environment of weft-sidecar", sets, func(s *settings, text string) error {
		given, err := parseVariables(text)
		maps.Copy(s.env, given)
		return err
	}},
	{"kuma.io/sidecar-proxy-concurrency", "0 to 1024", "worker threads of Envoy; 0 is one for each processor", sets, func(s *settings, text string) error {
		n, err := parseNumber(text, 0, 1024)
		s.concurrency = &n
		return err
	}},
	{"kuma.io/sidecar-drain-time", "duration: 30s", "how long the sidecar goes on answering when the pod ends", sets, func(s *settings, text string) error {
		var d api.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			return err
		}
		s.drain, s.drainAsked = time.Duration(d), true
		if d < 0 {
			return fmt.Errorf("%s is negative; write 0s or more", d)
		}
		return nil
	}},
	{"kuma.io/envoy-log-level", "trace, debug, info, warning, error, critical, off", "what Envoy logs", sets, func(s *settings, text string) error {
		s.logLevel = text
		return oneOf(text, logLevels...)
	}},
	{"kuma.io/envoy-component-log-level", "upstream:debug,router:trace", "what components of Envoy log", sets, (*settings).setComponents},
	{"kuma.io/init-first", formBool, "with a classic sidecar, weft-init runs before the other init containers", sets, func(s *settings, text string) (err error) {
		s.initFirst, err = parseBool(text)
		return err
	}},
	{"kuma.io/wait-for-dataplane-ready", formBool, "with a classic sidecar, the other containers start when it is ready (default true)", sets, func(s *settings, text string) (err error) {
		s.wait, err = parseBool(text)
		return err
	}},
	{annotationProbePort, "0 to 65535", "the port at which the sidecar answers for the probes; 0 leaves them as they are", sets, func(s *settings, text string) (err error) {
		s.probePort, err = parseNumber(text, 0, 65535)
		if err == nil && slices.Contains(reservedPorts, s.probePort) {
			err = fmt.Errorf("%d is a port of the sidecar itself; choose another", s.probePort)
		}
		return err
	}},
	{"kuma.io/builtin-dns", formBool, "the sidecar answers for names that only the mesh knows, and asks the pod's nameservers for all others (value dns.enabled, default false)", sets, func(s *settings, text string) (err error) {
		s.redirect.RedirectDNS, err = parseBool(text)
		return err
	}},
	{"kuma.io/builtin-dns-port", "1 to 65535", "the port of that resolver", sets, func(s *settings, text string) error {
		n, err := parseNumber(text, 1, 65535)
		s.redirect.DNSPort = uint16(n)
		return err
	}},
	{annotationFamily, "dualstack, ipv4, ipv6", "which addresses are redirected", sets, func(s *settings, text string) error {
		s.redirect.IPFamilyMode = intercept.IPFamilyMode(text)
		return oneOf(text, "dualstack", "ipv4", "ipv6")
	}},
	{"traffic.kuma.io/exclude-inbound-ports", formPorts, "calls to these ports are not redirected", sets, func(s *settings, text string) error {
		return addPorts(&s.redirect.ExcludeInboundPorts, text)
	}},
	{"traffic.kuma.io/exclude-outbound-ports", formPorts, "calls of the pod to these ports are not redirected", sets, func(s *settings, text string) error {
		return addPorts(&s.redirect.ExcludeOutboundPorts, text)
	}},
	{"traffic.kuma.io/exclude-outbound-ports-for-uids", "[[tcp|udp:]ports:]uid;…", "the same for calls of some users", sets, func(s *settings, text string) (err error) {
		if s.redirect.ExcludeOutboundPortsForUIDs, err = intercept.ParseUIDPorts(text); err != nil {
			return oneLine(err)
		}
		return nil
	}},
	{"traffic.kuma.io/exclude-inbound-ips", formIPs, "calls from these addresses are not redirected", sets, func(s *settings, text string) error {
		return addPrefixes(&s.redirect.ExcludeInboundIPs, text)
	}},
	{"traffic.kuma.io/exclude-outbound-ips", formIPs, "calls to these addresses are not redirected", sets, func(s *settings, text string) error {
		return addPrefixes(&s.redirect.ExcludeOutboundIPs, text)
	}},
	{"traffic.kuma.io/drop-invalid-packets", formBool, "packets without a connection are dropped", sets, func(s *settings, text string) (err error) {
		s.redirect.DropInvalidPackets, err = parseBool(text)
		return err
	}},
	{"kuma.io/reachable-backends", "refs: [{kind: MeshService, name: web}]", "what the pod may call; everything where it is not given", sets, (*settings).setReachable},
	{"kuma.io/direct-access-services", "services with commas in between, or *", "what the pod calls by the address of an instance", sets, checkNames},
	{"kuma.io/transparent-proxying-reachable-services", "services with commas in between", "what the pod may call, by kuma.io/service", sets, checkNames},
	{"weft.io/sidecar-resources", `JSON: {"limits":{"memory":"1Gi"}}`, "requests and limits of weft-sidecar, over those of the mesh", sets, (*settings).setResources},
	{"weft.io/native-sidecar", formBool, "weft-sidecar is an init container that goes on running", sets, func(s *settings, text string) (err error) {
		s.native, err = parseBool(text)
		return err
	}},
	{"weft.io/interception-mode", "init, none", "who redirects traffic: weft-init, or nobody", sets, (*settings).setMode},
	{"weft.io/edge-listeners", "80/http,8443/tls", "with kuma.io/gateway: builtin, the ports that it serves", sets, checkListeners},
	{annotationSpire, formBool, "the sidecar gets the socket of the SPIRE agent of the node, for MeshIdentities of type Spire (values spire, default spire.enabled)", sets, func(s *settings, text string) (err error) {
		s.spire, err = parseBool(text)
		return err
	}},

	{Name: annotationInjected, Means: "the pod has a sidecar", role: written},
	{Name: annotationUID, Means: "the user of the sidecar", role: written},
	{Name: annotationAdminPort, Means: "the port of Envoy's administration", role: written},
	{Name: annotationRedirected, Means: "traffic is redirected", role: written},
	{Name: annotationInbound, Means: "where calls to the pod go", role: written},
	{Name: annotationOutbound, Means: "where calls of the pod go", role: written},
	{Name: annotationInjectedBy, Means: "the version of weft that injected", role: written},
	{Name: annotationRules, Means: "what is redirected, as JSON", role: written},

	{Name: LabelInjection, Means: "a label", role: aLabel},
	{Name: api.LabelMesh, Means: "a label", role: aLabel},
	{Name: "kuma.io/ignore", Means: "read on Services", role: elsewhere},
	{Name: "weft.io/conditions", Means: "read on routes", role: elsewhere},

	{Name: "kuma.io/container-patches", Means: "there is no ContainerPatch", role: ignored},
	{Name: "kuma.io/service-account-token-volume", Means: "the sidecar has a token of its own", role: ignored},
	{Name: "kuma.io/virtual-probes", Means: "use kuma.io/application-probe-proxy-port", role: ignored},
	{Name: "kuma.io/virtual-probes-port", Means: "use kuma.io/application-probe-proxy-port", role: ignored},
	{Name: "kuma.io/builtin-dns-logging", Means: "the resolver logs with the sidecar", role: ignored},
	{Name: "kuma.io/transparent-proxying-ebpf", Means: "traffic is redirected by iptables or nftables", role: ignored},
	{Name: "kuma.io/transparent-proxying-ebpf-bpf-fs-path", Means: "traffic is redirected by iptables or nftables", role: ignored},
	{Name: "kuma.io/transparent-proxying-ebpf-cgroup-path", Means: "traffic is redirected by iptables or nftables", role: ignored},
	{Name: "kuma.io/transparent-proxying-ebpf-instance-ip-env-var-name", Means: "traffic is redirected by iptables or nftables", role: ignored},
	{Name: "kuma.io/transparent-proxying-ebpf-programs-source-path", Means: "traffic is redirected by iptables or nftables", role: ignored},
	{Name: "kuma.io/transparent-proxying-ebpf-tc-attach-iface", Means: "traffic is redirected by iptables or nftables", role: ignored},
	{Name: "traffic.kuma.io/iptables-logs", Means: "weft writes no rules that log", role: ignored},
	{Name: "traffic.kuma.io/transparent-proxy-configmap-name", Means: "settings come from values and annotations", role: ignored},
}

// table are the annotations by name.
var table = func() map[string]Annotation {
	out := map[string]Annotation{}
	for _, a := range annotations {
		out[a.Name] = a
	}
	return out
}()

// ours reports whether an annotation is of weft's or Kuma's name space. Of k8s.kuma.io are also those
// that Kuma writes.
func ours(name string) bool {
	if _, known := table[name]; known {
		return true
	}
	for _, prefix := range []string{"kuma.io/", "traffic.kuma.io/", "weft.io/"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// read reads all annotations of the pod and of its namespace. Those of the pod win.
func read(pod *corev1.Pod, ns Namespace, c Config) (s settings, warnings, refused []*api.Violation) {
	s = c.settings()
	s.mesh, refused = meshOf(pod, ns, c)
	for _, from := range []struct {
		values map[string]string
		object api.Ref
	}{{ns.Annotations, api.Ref{Kind: "Namespace", Name: ns.Name}}, {pod.Annotations, api.Ref{}}} {
		inNamespace := from.object != api.Ref{}
		for _, name := range slices.Sorted(maps.Keys(from.values)) {
			if _, stronger := pod.Annotations[name]; inNamespace && stronger || !ours(name) {
				continue
			}
			at := annotationPath(name)
			a, known := table[name]
			var v *api.Violation
			switch {
			case !known:
				v = at.Warns("UnknownAnnotation", "weft knows no such annotation; %s", nearest.DidYouMean(name, readable(), "it reads"))
			case a.role == sets:
				if err := a.set(&s, strings.TrimSpace(from.values[name])); err != nil {
					v = at.Breaks("%s", err.Error())
					v.Code = "InvalidAnnotation"
					refused = append(refused, named(v, from.object))
					continue
				}
				if strings.HasPrefix(a.Value, "true") && (from.values[name] == "yes" || from.values[name] == "no") {
					v = at.Warns("DeprecatedValue", "yes and no go away; write true or false")
				}
			case a.role == ignored:
				v = at.Warns("IgnoredAnnotation", "has no effect: %s; remove it", a.Means)
			case a.role == aLabel:
				v = at.Warns("IgnoredAnnotation", "is read as a label only; write it under metadata.labels")
			case a.role == elsewhere:
				v = at.Warns("IgnoredAnnotation", "is %s, not on pods; remove it", a.Means)
			}
			if v != nil {
				warnings = append(warnings, named(v, from.object))
			}
		}
	}
	s.finish(pod)
	for _, v := range s.refusedInterception() { // what follows from several settings; the rest has been said
		if !slices.ContainsFunc(refused, func(said *api.Violation) bool { return said.Field == v.Field }) {
			refused = append(refused, v)
		}
	}
	return s, warnings, refused
}

// named is v as a violation of an object other than the pod.
func named(v *api.Violation, object api.Ref) *api.Violation {
	if object != (api.Ref{}) {
		v.Object = object
		v.Message += " (it stands on the namespace " + object.Name + ")"
	}
	return v
}

// readable are the names of the annotations that are read.
func readable() []string {
	var out []string
	for _, a := range Annotations() {
		if a.Read() {
			out = append(out, a.Name)
		}
	}
	return out
}
