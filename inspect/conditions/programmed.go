package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// programmed says whether Envoys have what the object says. Found are the notes
// at the places where it is attached.
func programmed(m *resolve.Reader, o *api.Object, x *participation, found []api.Note, gate listening) Condition {
	n := x.counts
	c := Condition{Type: "Programmed", Status: "False", Reason: "Pending", Dataplanes: n}
	switch {
	case gate.closed != "":
		c.Reason, c.Message = gate.closed, gate.why
	case gate.listens && n.Programmed > 0 && n.Programmed < n.Connected: // clients are served somewhere
		c.Status, c.Reason = "True", "PartiallyProgrammed"
		c.Message = fmt.Sprintf("%d of %d edge dataplanes have confirmed it", n.Programmed, n.Connected)
		if n.Rejected > 0 {
			c.Message += "; refused by " + rejections(x.refusing)
		}
	case n.Selected == 0 && !m.SelectsAny(o.Ref):
		c.Message = "it selects no dataplane"
	case n.Selected == 0:
		c.Message = "no dataplane that it selects calls, or serves, what it is about"
	case n.Effective == 0:
		c.Reason, c.Message = api.CodeNoEffect, "it takes part on none of "+meantFor(m, o, n.Selected)
		if why := x.why(m, ""); why != "" {
			c.Message += ": " + why
		}
	case n.Rejected > 0:
		c.Reason, c.Message = notes.CodeRejected, rejections(x.refusing)
	case withheld(found) != "":
		c.Reason, c.Message = notes.CodeRejected, withheld(found)
	case !x.Acting() && !gate.listens:
		c.Reason, c.Message = x.idle()
	case n.Connected == 0:
		c.Message = "no sidecar that it concerns is connected"
	case n.Programmed < n.Connected:
		c.Message = fmt.Sprintf("%d of %d sidecars have not confirmed it yet", n.Connected-n.Programmed, n.Connected)
		if len(x.beside) > 0 {
			c.Message += "; what is refused is not of it: " + rejections(x.beside)
		}
	case n.Effective < n.Selected:
		c.Status, c.Reason = "True", "PartiallyProgrammed"
		c.Message = fmt.Sprintf("%s %d of %s", routesOf(o), n.Effective, meantFor(m, o, n.Selected))
	case x.lost > 0 && len(x.losers()) > 0:
		c.Status, c.Reason = "True", "PartiallyProgrammed"
		c.Message = fmt.Sprintf("on %d of %s %s stands in its place", x.lost, dataplanesText(n.Selected), inspect.AtMostThree(x.losers()))
	default:
		c.Status, c.Reason = "True", "Programmed"
	}
	return c
}

// listening is whether an object says where edge dataplanes listen, and for what reason
// then none of them listens for it; empty where one may.
type listening struct {
	listens     bool
	closed, why string
}

func listeningOf(m *resolve.Reader, ref api.Ref, n Counts) listening {
	r, ok := m.Route(ref)
	switch {
	case !ok || r.Edges == (api.Edges{}):
		return listening{}
	case n.Selected == 0:
		return listening{true, "AddressNotAssigned",
			fmt.Sprintf("there is no edge dataplane in namespace %s with label %s: %s; write one", r.Edges.Namespace, r.Edges.Label, r.Edges.Value)}
	case !slices.ContainsFunc(r.Listeners, func(l route.Listener) bool { return !l.Closed }):
		return listening{true, "Invalid", "it has no listener that is served"}
	}
	return listening{listens: true}
}

// dataplanesText counts in words.
func dataplanesText(selected int) string {
	if selected == 1 {
		return "the one selected dataplane"
	}
	return fmt.Sprintf("the %d selected dataplanes", selected)
}

// meantFor counts the dataplanes that an object is meant for, with what they call.
func meantFor(m *resolve.Reader, o *api.Object, selected int) string {
	text := dataplanesText(selected)
	names := destinationsOf(m, o)
	if len(names) == 0 {
		return text
	}
	if selected == 1 {
		return text + " that calls " + inspect.AtMostThree(names)
	}
	return text + " that call " + inspect.AtMostThree(names)
}

// destinationsOf names what a route, or the routes of the items of a policy, are
// about; each once, as written.
func destinationsOf(m *resolve.Reader, o *api.Object) []string {
	var out []string
	routes := m.RoutesOf(o.Ref)
	if r, ok := m.Route(o.Ref); ok {
		routes = append(routes, r)
	}
	for _, r := range routes {
		for _, e := range r.Entries {
			if name := cmp.Or(e.To.Name, inspect.RefText(e.To)); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// routesOf is what some dataplanes lack: the routes that the items name, or the
// object itself, with its verb.
func routesOf(o *api.Object) string {
	var names []string
	if spec, ok := o.Spec.(*policies.Spec); ok {
		for _, it := range spec.To {
			if it.TargetRef.IsRoute() {
				names = append(names, cmp.Or(it.TargetRef.Name, inspect.RefText(it.TargetRef)))
			}
		}
	}
	slices.Sort(names)
	switch names = slices.Compact(names); len(names) {
	case 0:
		return "it takes part on"
	case 1:
		return names[0] + " is on"
	}
	return inspect.AtMostThree(names) + " are on"
}

// withheld is the first that no Envoy gets of an object.
func withheld(found []api.Note) string {
	if i := slices.IndexFunc(found, func(n api.Note) bool { return n.Code == notes.CodeRejected }); i >= 0 {
		return terminal.NoteText(found[i])
	}
	return ""
}

func rejections(refusing []inspect.Sidecar) string {
	var texts []string
	for _, s := range refusing {
		texts = append(texts, s.Dataplane.FullName()+": "+s.Refusal.Message)
	}
	if more := len(texts) - 3; more > 0 {
		texts = append(texts[:3], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// losers are those who stand in the place of entries of the object, in words.
func (x *participation) losers() []string {
	var by []string
	for _, e := range x.Entries {
		for _, o := range e.By {
			by = append(by, terminal.OriginText(o))
		}
	}
	slices.Sort(by)
	return slices.Compact(by)
}

// idle says why nothing of an object acts: others stand in its place, or it has
// no effect where it is attached.
func (x *participation) idle() (reason, message string) {
	if by := x.losers(); len(by) > 0 {
		return "Overridden", "everything that it says is overridden by " + strings.Join(by, ", ")
	}
	for _, e := range x.Entries {
		if e.Why != "" {
			return api.CodeNoEffect, string(e.Field) + " has no effect: " + e.Why
		}
	}
	return api.CodeNoEffect, "nothing that it says has an effect"
}
