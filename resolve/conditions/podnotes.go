package conditions

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
)

// reachNotes find refs of reachableBackends that mean nothing (spec/kubernetes.md 2.11).
func reachNotes(x Mesh, p *index.Dataplane) []api.Note {
	t := p.Spec.Networking.TransparentProxying
	if t == nil || t.ReachableBackends == nil {
		return nil
	}
	var notes []api.Note
	for i, ref := range t.ReachableBackends.Refs {
		at := api.Path("networking.transparentProxying.reachableBackends.refs").Index(i)
		if lost := destinationLost(x, reachability.OutboundTarget(ref), p.Object.Home()); lost != "" {
			notes = append(notes, api.Notef(p.Origin(), api.Warning, "TargetNotFound", at, "%s; the dataplane reaches nothing by it", lost))
		}
	}
	return notes
}

// noListeners is the note on an edge dataplane of which nobody says where it listens
// (spec/kubernetes.md 2.10).
func noListeners(x Mesh, p *index.Dataplane) []api.Note {
	if len(x.Listening(p)) > 0 || len(p.Spec.Networking.Gateway.Listeners) > 0 {
		return nil
	}
	how := "write networking.gateway.listeners"
	if p.Object.From != nil {
		how = "write the annotation weft.io/edge-listeners: 80/http on the pod"
	}
	return []api.Note{api.Notef(p.Origin(), api.Warning, "NoListeners", "", "the edge listens nowhere; %s, or label it gateway.networking.k8s.io/gateway-name with the name of a Gateway of its namespace", how)}
}

// protocolNotes are on what a Service says that its ports speak and weft does not know
// (spec/kubernetes.md 3.4).
func protocolNotes(o *api.Object, spec *api.Service) []api.Note {
	var notes []api.Note
	origin := &api.Origin{Ref: o.Ref}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if !p.KnownProtocol() {
			notes = append(notes, api.Notef(origin, api.Warning, api.CodeUnsupported, api.Path("spec.ports").Index(i).Field("appProtocol"),
				"weft does not know %q and takes it for tcp; write http, http2, grpc or tcp if it is one of them", redact.Clip(p.AppProtocol)))
		}
		if !p.KnownAnnotation(o) {
			notes = append(notes, api.Notef(origin, api.Warning, api.CodeUnsupported, "metadata.annotations["+api.Path(p.ProtocolAnnotation())+"]",
				"weft does not know %q and takes it for tcp; write http, http2, grpc or tcp", redact.Clip(o.Annotation(p.ProtocolAnnotation()))))
		}
	}
	return slices.Concat(notes, portlessNotes(o, spec), api.UpstreamNotes(o), api.AnnotationNotes(o, api.ServiceAnnotations()))
}

// portlessNotes are on annotations of a Service that say what a port speaks that it has not.
func portlessNotes(o *api.Object, spec *api.Service) []api.Note {
	if o.Meta == nil {
		return nil
	}
	var notes []api.Note
	for _, name := range slices.Sorted(maps.Keys(o.Meta.Annotations)) {
		of := func(p api.KubernetesPort) bool { return p.ProtocolAnnotation() == name }
		if port, ok := strings.CutSuffix(name, api.ProtocolSuffix); ok && !slices.ContainsFunc(spec.Ports, of) {
			notes = append(notes, api.Notef(&api.Origin{Ref: o.Ref}, api.Warning, api.CodeUnsupported, api.Path("metadata.annotations").Key(name),
				"the service has no port %s, so it has no effect; begin it with the number of a port that it has", redact.Clip(port)))
		}
	}
	return notes
}
