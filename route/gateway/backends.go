package gateway

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// backendKind is one kind of backends.
type backendKind struct {
	group, kind string
	port        bool // the ref has to name a port
}

// backendKinds are all kinds of backends.
var backendKinds = []backendKind{
	{"", api.KindService, true},
	{"kuma.io", api.KindMeshService, false},
	{"kuma.io", api.KindMeshExternalService, false},
	{"kuma.io", api.KindMeshMultiZoneService, true},
}

// The reasons why a backendRef leads nowhere, whatever there is.
const (
	invalidKind     = "InvalidKind"
	backendNotFound = "BackendNotFound"
	refNotPermitted = "RefNotPermitted"
)

// backends are those of a rule. One that is invalid keeps its share.
func (x *reader) backends(r *route.Rule, refs []gatewayv1.HTTPBackendRef, at api.Path) []route.BackendRef {
	out := make([]route.BackendRef, len(refs))
	for i := range refs {
		here := at.Index(i)
		out[i] = x.backend(&refs[i].BackendObjectReference, here)
		out[i].Weight = uint32(or(refs[i].Weight, 1))
		own := &said{}
		x.filters(own, r, refs[i].Filters, here.Field("filters"))
		out[i].Filters = own.filters
		if own.closed && out[i].Unresolved == nil {
			out[i].Unresolved = &route.UnresolvedReason{Code: invalidKind, Message: "one of its filters cannot be carried out"}
		}
	}
	return out
}

// backend reads one ref, which stands at at.
func (x *reader) backend(ref *gatewayv1.BackendObjectReference, at api.Path) route.BackendRef {
	home := x.object.Home()
	kind := backendKind{group: string(or(ref.Group, "")), kind: string(or(ref.Kind, api.KindService))}
	out := route.BackendRef{Home: home, Port: uint32(or(ref.Port, 0)), Field: at, Broken: x.broken, Speaks: x.speaks, HTTP2: x.speaks == api.GRPC, Weight: 1,
		Target: api.TargetRef{Kind: kind.kind, Name: string(ref.Name), Namespace: string(or(ref.Namespace, gatewayv1.Namespace(home.Namespace)))}}
	lose := func(code, format string, args ...any) {
		out.Unresolved = &route.UnresolvedReason{Code: code, Message: fmt.Sprintf(format, args...)}
	}
	known := slices.IndexFunc(backendKinds, func(k backendKind) bool { return k.group == kind.group && k.kind == kind.kind })
	switch {
	case known < 0:
		lose(invalidKind, "weft has no backends of kind %s in group %q; name a Service, or a MeshService of group kuma.io", redact.Clip(kind.kind), redact.Clip(kind.group))
	case out.Port == 0 && backendKinds[known].port:
		lose(backendNotFound, "a backend of kind %s needs a port; write it", kind.kind)
	case kind.kind == api.KindService:
		if o, ok := x.see.Object(api.Ref{Kind: kind.kind, Mesh: x.object.Mesh, Namespace: out.Target.Namespace, Name: out.Target.Name}); ok && o.Spec.(*api.Service).External() {
			lose(invalidKind, "Service %s is of type ExternalName, only another name for a host; name a MeshExternalService of group kuma.io", o.FullName())
		}
	}
	if x.strict && out.Unresolved == nil && !x.permitted(kind.group, out.Target) {
		lose(refNotPermitted, "no ReferenceGrant in namespace %s lets %ss of namespace %s refer to %s %s; create one there", out.Target.Namespace, x.object.Kind, home.Namespace, kind.kind, out.Target.Name)
	}
	return out
}
