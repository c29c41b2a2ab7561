package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api/redact"
)

// contourAnnotation begins the annotations of Contour, in which ports stand with commas, by
// number or name.
const (
	contourAnnotation = "projectcontour.io/"
	upstreamProtocol  = contourAnnotation + "upstream-protocol."
)

// ServiceAnnotations are those of other programs that matter of a Service.
func ServiceAnnotations() []Annotation {
	const bound = "weft has no such bound on what goes to a service at once; remove it"
	return append([]Annotation{
		{upstreamProtocol, ""},
		{contourAnnotation + "max-", bound},
		{contourAnnotation + "per-host-max-connections", bound},
		{"contour.heptio.com/upstream-protocol.", "it is an older name that Contour does not read any more either; write " + upstreamProtocol + "*, or appProtocol at the port"},
		{"contour.heptio.com/", "it is an older name that Contour does not read any more either; remove it"},
		{"config.linkerd.io/opaque-ports", "write appProtocol: tcp at the ports in which nobody is to look for requests"},
	}, LinkerdAnnotations(KindService)...)
}

// upstreamProtocols are the words of upstreamProtocol, those that hold last.
var upstreamProtocols = []string{"h2", "h2c", "tls"}

// Upstream is what the annotations of a Service say in Contour's words of how a port is spoken
// to, which is known by its number and maybe by its name, and the annotation that says it; empty
// where none does. A name goes before a number, and tls before h2c before h2.
func Upstream(service *Object, port uint32) (protocol, annotation string) {
	spec, ok := service.Spec.(*Service)
	if !ok || service.Meta == nil {
		return "", ""
	}
	var name string
	for i := range spec.Ports {
		if spec.Ports[i].Port == port && spec.Ports[i].OverTCP() {
			name = spec.Ports[i].Name
		}
	}
	for _, word := range []string{name, strconv.FormatUint(uint64(port), 10)} {
		for _, known := range slices.Backward(upstreamProtocols) {
			if word != "" && slices.Contains(upstreamPorts(service, known), word) {
				return known, upstreamProtocol + known
			}
		}
	}
	return "", ""
}

// upstreamPorts are the ports that an annotation names.
func upstreamPorts(service *Object, protocol string) []string {
	list := strings.Split(service.Annotation(upstreamProtocol+protocol), ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// UpstreamNotes are on what a Service says in Contour's words of how it is spoken to: HTTPProxies
// heed it, nobody else does.
func UpstreamNotes(service *Object) []Note {
	spec, ok := service.Spec.(*Service)
	if !ok || service.Meta == nil {
		return nil
	}
	var out []Note
	for _, name := range slices.Sorted(maps.Keys(service.Meta.Annotations)) {
		protocol, ok := strings.CutPrefix(name, upstreamProtocol)
		if !ok {
			continue
		}
		at := Path("metadata.annotations").Key(name)
		say := func(text string) {
			out = append(out, Note{Origin: &Origin{Ref: service.Ref, Field: at}, Severity: Warning, Code: CodeUnsupported, Field: at, Message: text})
		}
		if !slices.Contains(upstreamProtocols, protocol) {
			say("there is no protocol " + redact.Clip(protocol) + ", so it has no effect; write one of h2c, tls and h2")
			continue
		}
		for _, port := range upstreamPorts(service, protocol) {
			there := slices.ContainsFunc(spec.Ports, func(p KubernetesPort) bool { return p.Name == port || strconv.FormatUint(uint64(p.Port), 10) == port })
			if port != "" && !there {
				say("the service has no port " + redact.Clip(port) + "; name one that it has, by number or name")
			}
		}
		if protocol != "h2c" {
			say("weft does not encrypt connections to a service of the mesh for it: HTTPProxies that send to these ports are not served, and what others send there is encrypted by Mesh.mtls alone; remove it if the service takes plaintext")
		}
	}
	return out
}
