package conditions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// The codes of reasons why an object takes no part on a dataplane. One whose
// target is nowhere has the code of its note.
const (
	NotSelected = "NotSelected" // its targetRef selects others
	NotCalled   = "NotCalled"   // the dataplane calls nothing that it is about
	NoInbound   = "NoInbound"   // or has no port that it is about
)

// WhyNot says why the object of ref, a policy or route, does not apply to p.
func (x Mesh) WhyNot(ref api.Ref, p *index.Dataplane, r *effective.Resolved) []api.Note {
	a := reasons{mesh: x, plane: p, resolved: r, origin: &api.Origin{Ref: ref}}
	if by := x.Policy(ref); by != nil {
		a.ofPolicy(by)
	} else if by := x.Route(ref); by != nil {
		a.ofRoute(by)
	}
	return a.notes
}

// reasons gathers why one object takes no part on one dataplane.
type reasons struct {
	mesh     Mesh
	plane    *index.Dataplane
	resolved *effective.Resolved
	origin   *api.Origin
	notes    []api.Note
}

func (a *reasons) because(code string, at api.Path, format string, args ...any) {
	a.notes = append(a.notes, api.Notef(a.origin, api.Info, code, at, format, args...))
}

func (a *reasons) ofPolicy(p *index.Policy) {
	spec := p.Object.Spec.(*policies.Spec)
	home := p.Object.Home()
	const top = api.Path("spec.targetRef")
	if p.TopRoute != nil {
		if lost := routeLost(a.mesh, *p.TopRoute, home); lost != "" {
			a.because("TargetNotFound", top, "%s", lost)
			return
		}
	}
	if a.mesh.AuthorizesRoutes(p) {
		switch {
		case !p.AuthorizesAt(a.plane):
			a.because(NotSelected, top, "it is in namespace %s, and has a say about the workloads there alone", home.Namespace)
		case !a.mesh.AuthorizesDataplane(p, index.ObjectKey(a.plane.Object.Ref)):
			a.because(NotSelected, top, "none of the rules of %s that it is attached to leads to it", index.RefText(*p.TopRoute))
		}
		for _, n := range RouteAuthorizationNotes(a.mesh, p) {
			a.because(n.Code, n.Field, "%s", n.Message)
		}
		return
	}
	if spec.Top().Kind == api.KindMeshGateway {
		a.because("TargetNotFound", top, noGateways)
		return
	}
	if n, nothing := selectsNone(a.mesh, spec.Top(), p.Selector, a.origin); nothing {
		a.because(n.Code, n.Field, "%s", n.Message)
		return
	}
	if !AnySelects(a.mesh.policySelectors(p), a.plane) {
		a.because(NotSelected, top, "%s", selectsOthers(spec.Top()))
		return
	}
	for _, it := range p.Items {
		a.ofItem(it, home)
	}
	switch {
	case len(p.Inbound) == 0, p.OfDataplanes:
	case p.Section != "":
		a.because(NoInbound, top.Field("sectionName"), "it has no inbound %q", p.Section)
	default:
		a.because(NoInbound, p.Inbound[0].Field, "it has no inbound that spec.targetRef selects")
	}
	for _, it := range p.Inbound {
		for _, n := range callersNotes(a.mesh, it) {
			a.because(n.Code, n.Field, "%s", n.Message)
		}
	}
}

func (a *reasons) ofItem(it *index.Item, home api.Home) {
	at := it.Field.Field("targetRef")
	if n, bad := itemNote(a.mesh, it, home); bad {
		a.because(n.Code, n.Field, "%s", n.Message)
		return
	}
	switch top := it.Policy.TopRoute; {
	case top == nil && it.Target.IsRoute():
		a.because(NotSelected, at, "%s is not on it", index.RefText(it.Target))
	case top == nil && it.Target.Kind == api.KindMesh:
		a.because(NotCalled, at, "it calls nothing")
	case it.Target.Kind == api.KindMesh:
		a.because(NotCalled, at, "it calls nothing that %s is about", index.RefText(*top))
	default:
		a.notCalled(it.Target, home, at)
	}
}

func (a *reasons) ofRoute(r *index.Route) {
	if n, nothing := selectsNone(a.mesh, r.Parsed.Top, r.Selector, a.origin); nothing {
		a.because(n.Code, n.Field, "%s", n.Message)
		return
	}
	if !r.Selector.Selects(&a.plane.Facts) {
		a.because(NotSelected, "spec.targetRef", "%s", selectsOthers(r.Parsed.Top))
		return
	}
	if r.Excluded {
		for _, n := range r.Parsed.Notes {
			a.because(n.Code, n.Field, "%s", n.Message)
		}
		return
	}
	if len(r.Parsed.Entries) == 0 {
		a.because(api.CodeNoEffect, "spec.to", "it says nothing of any destination")
	}
	for i := range r.Parsed.Entries {
		e := &r.Parsed.Entries[i]
		a.ofEntry(r, e, e.Field)
	}
}

func (a *reasons) ofEntry(r *index.Route, e *route.Entry, at api.Path) {
	if home := a.plane.Facts.Namespace; e.To.Kind == api.KindHost && e.To.Namespace != "" && home != "" && home != e.To.Namespace {
		a.because(CodeNotOwned, at, "%s acts on dataplanes of namespace %s alone, for no grant in tenancy.hosts of Mesh %s gives it the host elsewhere", e.To.Name, e.To.Namespace, r.Object.Mesh)
		return
	}
	d := a.called(e.To, r.Object.Home())
	switch {
	case d == nil:
		a.notCalled(e.To, r.Object.Home(), at)
	case len(e.Rules) == 0:
		a.because(api.CodeNoEffect, at, "it has no rules for %s", d.ID)
	case !a.mesh.DestinationFor(d, a.plane).Reads(r.Parsed.Speaks) && !r.Parsed.Connections:
		a.because("UnsupportedProtocol", at, "%s speaks %s, in which there are no requests to route", d.ID, d.Protocol)
	default:
		a.givesWay(r, e, at, d)
	}
}

// givesWay says who stands in the place of an entry that could hold for d.
func (a *reasons) givesWay(r *index.Route, e *route.Entry, at api.Path, d *effective.Destination) {
	all, home := a.mesh.SubjectsOf(a.mesh.DestinationFor(d, a.plane)), a.plane.Facts.Namespace
	switch by := all.OwnerBefore(r, e); {
	case by != nil:
		a.because(api.CodeConflicted, at, "%s", ownedBy(by, d))
	case e.Callers != "" && e.Callers != home:
		a.because(NotSelected, at, "it is for the dataplanes of namespace %s", e.Callers)
	case !r.SelectorOf(e).Selects(&a.plane.Facts):
		a.because(NotSelected, at, "it is for the edge dataplanes of namespace %s with label %s=%s", e.Edges.Namespace, e.Edges.Label, e.Edges.Value)
	case e.Callers == "" && home != "" && slices.ContainsFunc(all.Contributions, func(c *index.Contribution) bool { return c.Entry.Callers == home }):
		a.because(api.CodeConflicted, at, "routes for the callers of namespace %s stand in its place", home)
	default:
		a.because(api.CodeNoEffect, at, "none of its own rules stands for %s", d.ID)
	}
}

// called is a destination that the ref means and the dataplane calls; nil for none.
func (a *reasons) called(ref api.TargetRef, home api.Home) *effective.Destination {
	i := slices.IndexFunc(a.resolved.Outbounds, func(o *effective.Outbound) bool {
		facts := services.FactsOf(o.Destination)
		return matcher.Destination(ref, home, &facts)
	})
	if i < 0 {
		return nil
	}
	return a.resolved.Outbounds[i].Destination
}

func (a *reasons) notCalled(ref api.TargetRef, home api.Home, at api.Path) {
	if lost := destinationLost(a.mesh, ref, home); lost != "" {
		a.because("TargetNotFound", at, "%s", lost)
		return
	}
	a.because(NotCalled, at, "it does not call %s", index.RefText(ref))
}

// selectsOthers says that a top-level ref leaves the dataplane out.
func selectsOthers(top api.TargetRef) string {
	switch {
	case top.Name != "" || len(top.Labels) > 0:
		return index.RefText(top) + " selects other dataplanes"
	case len(top.Tags) > 0:
		return fmt.Sprintf("%s with tags %s selects other dataplanes", top.Kind, index.LabelText(top.Tags))
	case len(top.ProxyTypes) > 0:
		return fmt.Sprintf("it is for proxies of type %s", strings.Join(top.ProxyTypes, ", "))
	}
	return "it is for the dataplanes of its own namespace or zone"
}

// The codes of notes on what is there and holds nothing (spec/contract.md 6).
const (
	selectsNothing = "SelectsNothing" // labels or tags of a top-level ref
	noEndpoints    = "NoEndpoints"    // a backend that nobody answers for
)

// selectsNone is the note on a top-level ref that selects no dataplane: one by a
// name leads nowhere, one by labels or tags may be early. Of refs that may select
// everything there is nothing to say.
func selectsNone(x Mesh, top api.TargetRef, s *matcher.Selector, origin *api.Origin) (api.Note, bool) {
	named, labelled := top.Name != "", len(top.Labels)+len(top.Tags)+len(top.ProxyTypes) > 0
	if top.Kind == api.KindMeshGateway || top.IsRoute() || !named && !labelled || x.Selects(s) {
		return api.Note{}, false
	}
	const at = api.Path("spec.targetRef")
	if named {
		if lost := lostName(x, top); lost != "" {
			return api.Notef(origin, api.Error, "TargetNotFound", at, "%s", lost), true
		}
	}
	return api.Notef(origin, api.Warning, selectsNothing, at, "%s selects no dataplane: %s", index.RefText(top), unselected(x, top)), true
}

// lostName says that no dataplane answers to the name of a top-level ref, with
// the nearest names; empty where one does.
func lostName(x Mesh, top api.TargetRef) string {
	names := x.planeNames(top.Kind == api.KindDataplane)
	if names.has[top.Name] {
		return ""
	}
	near := orNearest(names.Nearest(top.Name, mostNear))
	if top.Kind == api.KindDataplane {
		return "there is no " + index.RefText(top) + near
	}
	return fmt.Sprintf("no dataplane has %s=%s%s", api.TagService, top.Name, near)
}

// unselected says what of a top-level ref no dataplane satisfies.
func unselected(x Mesh, top api.TargetRef) string {
	var labels, tags []map[string]string
	for p := range x.Dataplanes.Values(x.At) {
		labels = append(labels, p.Facts.Labels.All())
		for _, t := range p.Facts.Tags {
			if top.Kind == api.KindMeshSubset || t[api.TagService] == top.Name {
				tags = append(tags, t)
			}
		}
	}
	for _, s := range []struct {
		want map[string]string
		have []map[string]string
	}{{top.Labels, labels}, {top.Tags, tags}} {
		if len(s.want) > 0 {
			return services.Mismatch(s.want, s.have)
		}
	}
	if len(top.ProxyTypes) > 0 {
		return "there is none of that type"
	}
	return "it is in another namespace or zone"
}

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
