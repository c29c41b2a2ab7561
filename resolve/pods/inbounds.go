package pods

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
)

// The tags of inbounds beside those of package api, and those of nodes (spec/kubernetes.md 2.7).
const (
	tagInstance    = "kuma.io/instance"
	tagServiceName = LabelServiceName
	tagServicePort = "k8s.kuma.io/service-port"
)

var nodeTags = []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"}

// offered is an inbound with the port of the Service that leads to it.
type offered struct {
	inbound
	service *api.Object
	index   int // in its ports
	spoken  api.Protocol
	guessed bool
}

// inbounds are the ports of a pod to which Services lead, one for each port of each
// Service, and the marker where there is none.
func (b *builder) inbounds() []inbound {
	var all []offered
	for _, s := range sorted(b.around.Services) {
		spec, ok := s.Spec.(*api.Service)
		if !ok {
			continue
		}
		selected, but := b.selects(s, spec)
		if !selected {
			continue
		}
		for i := range spec.Ports {
			if p := &spec.Ports[i]; !p.OverTCP() {
				b.onlyTCP(s, spec)
			} else if in, ok := b.target(s, i, p); ok {
				in.ignored = but
				all = append(all, in)
			}
		}
	}
	if len(all) == 0 {
		return []inbound{b.marker()}
	}
	b.agree(all)
	out := make([]inbound, len(all))
	for i := range all {
		all[i].tags = b.tags(&all[i])
		out[i] = all[i].inbound
	}
	return out
}

// selects reports whether a Service leads to the pod: by its selector, and where it has
// none by an EndpointSlice that names this very pod; and whether it does but for labels that
// do not count.
func (b *builder) selects(s *api.Object, spec *api.Service) (selected, but bool) {
	if s.Namespace != b.pod.Namespace || spec.External() || api.Ignored(s) || IsAPIServer(s) {
		return false, false
	}
	if len(spec.Selector) > 0 {
		labels := api.Labels{Written: b.pod.Labels}
		if labels.Carry(spec.Selector) {
			return true, false
		}
		left := without(spec.Selector, b.around.Unselecting)
		but = len(left) > 0 && len(left) < len(spec.Selector) && labels.Carry(left)
		return but, but
	}
	uid := b.pod.UID()
	selected = uid != "" && slices.ContainsFunc(b.around.Slices, func(o *api.Object) bool {
		return o.Namespace == s.Namespace && o.Labels[api.LabelServiceName] == s.Name && slices.Contains(uidsOf(o), uid)
	})
	return selected, false
}

// without is a selector without some labels.
func without(selector map[string]string, labels []string) map[string]string {
	if !slices.ContainsFunc(labels, func(k string) bool { _, ok := selector[k]; return ok }) {
		return selector
	}
	left := maps.Clone(selector)
	for _, k := range labels {
		delete(left, k)
	}
	return left
}

// IsAPIServer reports whether a Service is that of the cluster's own API. No sidecar
// stands between it and its clients.
func IsAPIServer(s *api.Object) bool {
	return s.Name == "kubernetes" && s.HomeNamespace() == "default"
}

// uidsOf are the pods that a slice names.
func uidsOf(slice *api.Object) []string {
	spec, ok := slice.Spec.(*api.EndpointSlice)
	if !ok {
		return nil
	}
	var out []string
	for i := range spec.Endpoints {
		if t := spec.Endpoints[i].TargetRef; t != nil && t.UID != "" {
			out = append(out, t.UID)
		}
	}
	return out
}

// onlyTCP notes once for each Service that its other ports have no inbound.
func (b *builder) onlyTCP(s *api.Object, spec *api.Service) {
	const code = "NotTCP"
	if slices.ContainsFunc(b.notes, func(n api.Note) bool { return n.Code == code && n.Origin.Ref == s.Ref }) {
		return
	}
	var others []string
	for i := range spec.Ports {
		if p := &spec.Ports[i]; !p.OverTCP() {
			others = append(others, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
		}
	}
	b.onService(s, api.Info, code, "spec.ports", "%s is not TCP and goes past the sidecar", strings.Join(others, ", "))
}

func (b *builder) onService(s *api.Object, severity api.Severity, code string, field api.Path, format string, args ...any) {
	b.notes = append(b.notes, api.Note{Origin: &api.Origin{Ref: s.Ref}, Severity: severity, Code: code, Field: field, Message: fmt.Sprintf(format, args...)})
}

// target is the port of the pod to which a port of a Service leads: a number that a
// container declares or not, or the name of a port of a container.
func (b *builder) target(s *api.Object, i int, p *api.KubernetesPort) (offered, bool) {
	out := offered{service: s, index: i}
	out.spoken, out.guessed = p.Speaks(s)
	out.name = cmp.Or(p.Name, strconv.FormatUint(uint64(p.Port), 10))
	out.port = p.Port
	named := ""
	if p.TargetPort != nil {
		out.port, named = p.TargetPort.Int, p.TargetPort.Name
	}
	var names []string
	for c := range b.spec.Serving {
		for j := range c.Ports {
			d := &c.Ports[j]
			if !d.OverTCP() {
				continue
			}
			if named == "" && d.ContainerPort == out.port || named != "" && d.Name == named {
				out.port, out.container, out.name = d.ContainerPort, c.Name, cmp.Or(d.Name, out.name)
				return out, true
			}
			if d.Name != "" {
				names = append(names, d.Name)
			}
		}
	}
	if named == "" {
		return out, true
	}
	slices.Sort(names)
	there := "no TCP port of theirs has a name"
	if names = slices.Compact(names); len(names) > 0 {
		there = "their ports are " + strings.Join(names, ", ")
	}
	b.onService(s, api.Warning, "PortNotFound", api.Path("spec.ports").Index(i).Field("targetPort"),
		"no container of the selected pods has a TCP port %q, so nobody is called there; %s", named, there)
	return out, false
}

// agree settles what several Services say of one port: what was written beats what was
// not, and two that contradict each other leave whole connections.
func (b *builder) agree(all []offered) {
	for i := range all {
		said, other := -1, -1 // the first that says something, and one that says something else
		for j := range all {
			switch x := &all[j]; {
			case x.port != all[i].port || x.guessed || x.ignored:
			case said < 0:
				said = j
			case x.spoken != all[said].spoken:
				other = j
			}
		}
		switch {
		case other >= 0:
			all[i].protocol = api.TCP
			if !all[i].guessed && !all[i].ignored {
				b.conflict(all, i)
			}
		case said >= 0:
			all[i].protocol = all[said].spoken
		default:
			all[i].protocol = all[i].spoken
		}
	}
}

// conflict notes that a port of a Service says something else than others that lead to
// the same port of the pod.
func (b *builder) conflict(all []offered, i int) {
	x := &all[i]
	var others []string
	for j := range all {
		if o := &all[j]; o.port == x.port && !o.guessed && !o.ignored && o.spoken != x.spoken {
			others = append(others, fmt.Sprintf("Service %s says %s", o.service.Name, o.spoken))
		}
	}
	b.onService(x.service, api.Error, "ProtocolConflict", api.Path("spec.ports").Index(x.index),
		"port %d of the selected pods speaks %s here and %s, so it is taken for tcp; write the same protocol everywhere", x.port, x.spoken, strings.Join(slices.Compact(others), ", "))
}

// tags are those of an inbound: what computes them wins over labels.
func (b *builder) tags(in *offered) map[string]string {
	spec := in.service.Spec.(*api.Service)
	port := strconv.FormatUint(uint64(spec.Ports[in.index].Port), 10)
	out := b.commonTags()
	out[tagServiceName], out[tagServicePort] = in.service.Name, port
	out[api.TagService] = in.service.Name + "_" + b.pod.Namespace + "_svc_" + port
	out[api.TagProtocol] = string(in.protocol)
	if spec.Headless() {
		out[tagInstance] = b.pod.Name
	}
	return out
}

// IsFor reports whether an inbound of a pod is the one for a port of a Service of its namespace.
func IsFor(in *api.Inbound, service string, port uint32) bool {
	return in.Tags[tagServiceName] == service && in.Tags[tagServicePort] == strconv.FormatUint(uint64(port), 10)
}

// commonTags are those of all inbounds of the pod.
func (b *builder) commonTags() map[string]string {
	out := make(map[string]string, len(b.pod.Labels)+8)
	for k, v := range b.pod.Labels {
		if v != "" && !strings.Contains(k, "kuma.io/") {
			out[k] = v
		}
	}
	if b.around.Node != nil {
		maps.Copy(out, nodeLabels(b.around.Node))
	}
	out[api.LabelNamespace] = b.pod.Namespace
	if b.around.Zone != "" {
		out[api.LabelZone] = b.around.Zone
	}
	return out
}

// nodeLabels are those of a node that become tags.
func nodeLabels(node *api.Object) map[string]string {
	out := map[string]string{}
	for _, k := range nodeTags {
		if v := node.Labels[k]; v != "" {
			out[k] = v
		}
	}
	return out
}

// marker is the inbound of a pod that no Service leads to. Nobody listens there.
func (b *builder) marker() inbound {
	tags := b.commonTags()
	tags[api.TagService] = b.owner() + "_" + b.pod.Namespace + "_svc"
	tags[api.TagProtocol] = string(api.TCP)
	tags[tagInstance] = b.pod.Name
	return inbound{port: api.MarkerPort, name: strconv.Itoa(api.MarkerPort), protocol: api.TCP, tags: tags}
}

// owner is the name of what the pod belongs to: the Deployment above its ReplicaSet, the
// CronJob above its Job, else its first owner, else the pod itself.
func (b *builder) owner() string {
	if b.pod.Meta == nil || len(b.pod.Meta.Owners) == 0 {
		return b.pod.Name
	}
	first := b.pod.Meta.Owners[0]
	if (first.Kind == api.KindReplicaSet || first.Kind == api.KindJob) && b.around.Owner != nil {
		if above := b.around.Owner(first.Kind, first.Name); above != nil && above.Meta != nil && len(above.Meta.Owners) > 0 {
			return above.Meta.Owners[0].Name
		}
	}
	if hash := b.pod.Labels["pod-template-hash"]; first.Kind == api.KindReplicaSet && hash != "" {
		if name, ok := strings.CutSuffix(first.Name, "-"+hash); ok {
			return name
		}
	}
	return first.Name
}
