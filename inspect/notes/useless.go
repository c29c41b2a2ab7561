package notes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/impact"
)

// TopText is what the top-level targetRef of a policy is about, in words.
func TopText(top api.TargetRef) string {
	if top.IsRoute() {
		return "requests of " + inspect.RefText(top)
	}
	return inspect.RefText(top)
}

// Codes of entries that are there and act nowhere.
const (
	shadowedRoute = "ShadowedRoute"
	callersMissed = "CallersNotSelected"
)

// useless are the notes on entries of an object that take part nowhere for what other objects say, or
// since nobody whom the object selects calls what they are about. It follows from what became of the
// object, so that it costs no more than that.
func useless(q *resolve.Reader, x *impact.Impact) []api.Note {
	o, ok := q.Snapshot().Get(x.Ref)
	if !ok || o.Shadow() || o.IsDefault() {
		return nil
	}
	var notes []api.Note
	if q.IsRoute(x.Ref.Kind) {
		for _, e := range x.Entries {
			if n, is := takenByOthers(q, x.Ref, e); is {
				notes = append(notes, n)
			}
		}
	}
	if notes = append(notes, uncalled(q, o, x)...); len(notes) == 0 {
		return nil
	}
	known := q.NotesOn(x.Ref)
	return slices.DeleteFunc(notes, func(n api.Note) bool {
		return slices.ContainsFunc(known, func(k api.Note) bool {
			return k.Code == n.Code && k.Field == n.Field || n.Code == callersMissed && explains(k, n)
		})
	})
}

// explains reports whether a note says already why an entry acts nowhere: what it is about is not
// there, or nothing is selected at all.
func explains(known, n api.Note) bool {
	const top = "spec.targetRef"
	return known.Severity != api.Info && (known.Field == "" || strings.HasPrefix(string(known.Field), top) ||
		strings.HasPrefix(string(known.Field), string(n.Field)) && known.Code != "RuleUnmet" && known.Code != "RuleUnserved")
}

// takenByOthers is about a rule whose requests are all taken by other routes.
func takenByOthers(q *resolve.Reader, ref api.Ref, e *impact.EntryEffect) (api.Note, bool) {
	if e.Acts != 0 || len(e.By) == 0 {
		return api.Note{}, false
	}
	var by []string
	for _, o := range e.By {
		if !q.IsRoute(o.Ref.Kind) {
			return api.Note{}, false
		}
		by = append(by, terminal.OriginText(o))
	}
	return warningOn(ref, e.Field, e.Field, shadowedRoute, "it takes no request: %s takes all of them; remove it, or make its matches more specific", strings.Join(by, ", ")), true
}

func warningOn(ref api.Ref, entry, at api.Path, code, format string, args ...any) api.Note {
	return api.Note{Origin: &api.Origin{Ref: ref, Field: entry}, Severity: api.Warning, Code: code, Field: at, Message: fmt.Sprintf(format, args...)}
}

// uncalled are about entries for destinations that no selected dataplane calls, of objects that do
// not select all: those for a whole mesh are for whoever may come to call.
func uncalled(q *resolve.Reader, o *api.Object, x *impact.Impact) []api.Note {
	if spec, ok := o.Spec.(*policies.Spec); ok {
		return uncalledByPolicy(o, spec, x)
	}
	parsed, ok := q.Route(o.Ref)
	if !ok || !narrow(parsed.Top) {
		return nil
	}
	var notes []api.Note
	for i := range parsed.Entries {
		e := &parsed.Entries[i]
		if e.To.Kind == "" || e.To.Kind == api.KindHost || len(e.Rules) == 0 || e.Rules[0].Origin.Ref != o.Ref {
			continue
		}
		taken := false
		for k := range e.Rules {
			taken = taken || x.Entry(e.Rules[k].Origin.Field) != nil
		}
		if !taken && len(q.Owners(o.Ref, e)) == 0 {
			at := e.Field
			notes = append(notes, warningOn(o.Ref, at, at, callersMissed, "none of the dataplanes that %s selects calls %s, so its rules take no request; %s", TopText(parsed.Top), inspect.RefText(e.To), nameCallers(parsed.Top, e.To, false)))
		}
	}
	return notes
}

func uncalledByPolicy(o *api.Object, spec *policies.Spec, x *impact.Impact) []api.Note {
	top := spec.Top()
	if top.IsRoute() || !narrow(top) {
		return nil
	}
	var notes []api.Note
	for i := range spec.To {
		to, at := spec.To[i].TargetRef, api.Path("spec.to").Index(i)
		if to.IsRoute() || x.Entry(at) != nil {
			continue
		}
		what := "anything"
		if to.Kind != api.KindMesh {
			what = inspect.RefText(to)
		}
		notes = append(notes, warningOn(o.Ref, at, at, callersMissed, "none of the dataplanes that %s selects calls %s, so it has no effect; %s", TopText(top), what, nameCallers(top, to, spec.Kind.Rules)))
	}
	return notes
}

// narrow reports whether a top-level ref selects some dataplanes alone, and no route.
func narrow(top api.TargetRef) bool {
	return !top.IsRoute() && top.Kind != api.KindMeshGateway && (top.Kind != api.KindMesh && top.Kind != "" || len(top.ProxyTypes)+len(top.Labels)+len(top.Tags) > 0)
}

// nameCallers is what to write where the top-level ref names those who are called, or somebody else;
// own says that the policy has a side for what comes in.
func nameCallers(top, to api.TargetRef, own bool) string {
	text := "name those who call in spec.targetRef"
	if to.Kind == api.KindMesh {
		text += ", and whom they call in to"
	}
	if own {
		text += ", or write rules in place of to for what comes in at " + TopText(top)
	}
	return text
}
