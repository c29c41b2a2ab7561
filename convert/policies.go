package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
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
			line := &w.lines[l]
			said := route.FieldsOf(back.Inline)
			written := route.FieldsOf(line.Inline)
			for _, kind := range slices.Sorted(maps.Keys(written)) {
				fields, missing := written[kind], map[string]any{}
				for at, v := range fields {
					switch {
					case text(said[kind][at]) == text(v):
					case ofConnections[at]:
						w.say(l, api.Warning, "ConnectionsNotExpressible", "%s of the connections to its services is %s, which neither %s nor a %s that targets a route says; write it in one that targets the services", at, text(v), w.Kind, kind)
					default:
						missing[at] = v
					}
				}
				o := back.Origins[len(back.Origins)-1]
				if key := kind + o.FullName() + string(o.Field); len(missing) > 0 && !done[key] {
					done[key] = true
					items[kind] = append(items[kind], item{w.targetOf(o), nested(missing)})
					w.say(l, api.Info, "AttachedPolicy", "%s does not say %s, so a %s that targets the rule does", w.Kind, strings.Join(slices.Sorted(maps.Keys(missing)), ", "), kind)
				}
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(items)) {
		w.policy(kind, items[kind])
	}
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

// policy adds a policy of a kind; what the kind refuses is left out.
func (w *work) policy(kind string, items []item) {
	ref := w.printed.Objects[0].Ref
	name := ref.Name + "-" + strings.ToLower(strings.TrimPrefix(kind, "Mesh"))
	spec := map[string]any{"targetRef": map[string]any{"kind": api.KindMesh}, "to": items}
	doc := map[string]any{"type": kind, "mesh": ref.Mesh, "name": name, "spec": spec}
	if ref.Namespace != "" {
		doc["namespace"] = ref.Namespace
	}
	objects, wrong := w.decoded(doc)
	left := false
	for _, v := range wrong {
		if field := without(items, v.Field); field != "" {
			w.say(-1, api.Error, "PolicyNotExpressible", "a %s does not say %s, so that is left out", kind, field)
			left = true
		}
	}
	if left {
		objects, wrong = w.decoded(doc)
	}
	for _, v := range wrong {
		w.say(-1, api.Error, "PolicyNotExpressible", "%s: %s: %s; the policy is left out", kind, v.Field, v.Message)
	}
	for _, o := range objects {
		o.Source = api.Source{}
		w.out.Objects = append(w.out.Objects, o)
	}
}

// decoded is a document as it is read, and what is wrong with it.
func (w *work) decoded(doc map[string]any) (objects []*api.Object, wrong []*api.Violation) {
	body, err := json.Marshal(doc)
	if err != nil {
		panic(err) // fields of policies always marshal
	}
	objects, err = decode.Objects(w.Catalog, "", body)
	return objects, slices.DeleteFunc(api.Violations(err), func(v *api.Violation) bool { return v.Severity != api.Error })
}

var fieldOfItem = regexp.MustCompile(`^spec[.]to\[([0-9]+)\][.]default[.](.+)$`)

// without takes the field at a path of a policy out of its item, and returns its name
// there; empty where there is none.
func without(items []item, at api.Path) string {
	parts := fieldOfItem.FindStringSubmatch(string(at))
	if parts == nil {
		return ""
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n >= len(items) {
		return ""
	}
	in, names := items[n].Default, strings.Split(parts[2], ".")
	for _, name := range names[:len(names)-1] {
		if in, _ = in[name].(map[string]any); in == nil {
			return ""
		}
	}
	last := names[len(names)-1]
	if _, ok := in[last]; !ok {
		return ""
	}
	delete(in, last)
	return parts[2]
}
