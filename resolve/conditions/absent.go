package conditions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
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
		case !p.JudgesAt(a.plane):
			a.because(NotSelected, top, "it is in namespace %s, and has a say about the workloads there alone", home.Namespace)
		case !a.mesh.JudgesDataplane(p, index.ObjectKey(a.plane.Object.Ref)):
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
	case len(p.Inbound) == 0:
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
	if r.KeptOut {
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
