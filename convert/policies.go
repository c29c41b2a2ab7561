package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/route"
)

// item is what a policy says about one rule.
type item struct {
	TargetRef api.TargetRef  `json:"targetRef"`
	Default   map[string]any `json:"default"`
}

// attach makes policies of what rules said themselves of timeouts, retries and limits and
// the language has no words for: they target the rules.
func (w *work) attach() {
	items := map[string][]item{} // by kind
	done := map[string]bool{}
	for back, lines := range w.back() {
		for _, l := range lines {
			said, written := route.FieldsOf(back.Inline), route.FieldsOf(w.lines[l].Inline)
			for _, kind := range slices.Sorted(maps.Keys(written)) {
				missing := w.missing(l, kind, written[kind], said[kind])
				o := back.Origins[len(back.Origins)-1]
				if key := kind + o.FullName() + string(o.Field); len(missing) > 0 && !done[key] {
					done[key] = true
					if x := (item{w.targetOf(o), nested(missing)}); w.attachable(l, kind, x) {
						items[kind] = append(items[kind], x)
						w.say(l, api.Info, "AttachedPolicy", "%s does not say %s, so a %s that targets the rule does", w.Kind, strings.Join(slices.Sorted(maps.Keys(missing)), ", "), kind)
					}
				}
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(items)) {
		objects, _ := w.policy(kind, w.free(w.policyRef(kind)), items[kind])
		w.out.Objects = append(w.out.Objects, objects...)
	}
}

// missing are the fields of a kind of policies that a line has and the rule that came of it
// does not say, but for those that no policy on a rule says either.
func (w *work) missing(line int, kind string, fields, said map[string]any) map[string]any {
	out := map[string]any{}
	for _, at := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[at]; {
		case text(said[at]) == text(v):
		case ofConnections[at]:
			w.say(line, api.Warning, "ConnectionsNotExpressible", "%s of the connections to its services is %s, which neither %s nor a %s that targets a route says; write it in one that targets the services", at, text(v), w.Kind, kind)
		default:
			out[at] = v
		}
	}
	return out
}

// ofConnections are the fields that an HTTPProxy says of the connections of a route,
// and policies only of all to a service.
var ofConnections = map[string]bool{"idleTimeout": true}

// targetOf names a rule as policies do.
func (w *work) targetOf(o *api.Origin) api.TargetRef {
	section := o.RuleName
	if section == "" {
		if section = fmt.Sprint(*o.Rule); o.To != nil {
			section = fmt.Sprintf("%d.%d", *o.To, *o.Rule)
		}
	}
	return api.TargetRef{Kind: o.Kind, Name: o.Name, SectionName: section}
}

// nested is fields by their paths as an object.
func nested(fields map[string]any) map[string]any {
	out := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		into, names := out, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			next, ok := into[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				into[name] = next
			}
			into = next
		}
		into[names[len(names)-1]] = fields[path]
	}
	return out
}

// attachable takes out of an item, which a line wants, what no policy of the kind says; it
// reports whether something is left that one says.
func (w *work) attachable(line int, kind string, x item) bool {
	wrong := w.wrongWith(kind, x)
	for _, v := range wrong {
		if field := without(x.Default, v.Field); field != "" {
			w.say(line, api.Error, "PolicyNotExpressible", "a %s does not say %s, so that is left out", kind, field)
		}
	}
	if len(wrong) > 0 {
		wrong = w.wrongWith(kind, x)
	}
	for _, v := range wrong {
		w.say(line, api.Error, "PolicyNotExpressible", "a %s is left out: %s: %s", kind, v.Field, v.Message)
	}
	return len(wrong) == 0
}

// wrongWith is what a kind of policies says is wrong with an item.
func (w *work) wrongWith(kind string, x item) []*api.Violation {
	_, err := w.policy(kind, w.policyRef(kind), []item{x})
	return slices.DeleteFunc(api.Violations(err), func(v *api.Violation) bool { return v.Severity != api.Error })
}

var fieldOfItem = regexp.MustCompile(`^spec[.]to\[0\][.]default[.](.+)$`)

// without takes the field at a path of a policy of one item out of what the item says, and
// returns its name there; empty where there is none.
func without(says map[string]any, at api.Path) string {
	parts := fieldOfItem.FindStringSubmatch(string(at))
	if parts == nil {
		return ""
	}
	names := strings.Split(parts[1], ".")
	for _, name := range names[:len(names)-1] {
		if says, _ = says[name].(map[string]any); says == nil {
			return ""
		}
	}
	last := names[len(names)-1]
	if _, ok := says[last]; !ok {
		return ""
	}
	delete(says, last)
	return parts[1]
}

// policyRef is what a policy of a kind on the table would be called.
func (w *work) policyRef(kind string) api.Ref {
	ref := w.printed.Objects[0].Ref
	ref.Kind, ref.Name = kind, ref.Name+"-"+strings.ToLower(strings.TrimPrefix(kind, "Mesh"))
	return ref
}

// policy is a policy of a kind, as objects; the error is what the kind refuses.
func (w *work) policy(kind string, ref api.Ref, items []item) ([]*api.Object, error) {
	spec := map[string]any{"targetRef": map[string]any{"kind": api.KindMesh}, "to": items}
	doc := map[string]any{"type": kind, "mesh": ref.Mesh, "name": ref.Name, "spec": spec}
	if ref.Namespace != "" {
		doc["namespace"] = ref.Namespace
	}
	body, err := json.Marshal(doc)
	if err != nil {
		panic(err) // fields of policies always marshal
	}
	objects, err := decode.Objects(w.Catalog, "", body)
	for _, o := range objects {
		o.Source = api.Source{}
	}
	return objects, err
}
