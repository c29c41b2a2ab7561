package differential

import (
	"slices"
	"strconv"
)

// policyKinds are those of drawn policies.
var policyKinds = []string{"MeshRetry", "MeshTimeout", "MeshRateLimit", "MeshTrafficPermission"}

// aimed lets most policies that target a route target one of docs, in whichever language it
// is written, and some of them one rule of it.
func (d draw) aimed(docs []m) []m {
	var routes []m
	for _, doc := range docs {
		if _, routed := rulesOf[kindOf(doc)]; routed {
			routes = append(routes, doc)
		}
	}
	if len(routes) == 0 {
		return docs
	}
	out := slices.Clone(docs)
	for i, doc := range out {
		if slices.Contains(policyKinds, kindOf(doc)) && d.chance(8) {
			out[i] = d.aim(doc, one(d, routes...)).(m)
		}
	}
	return out
}

func kindOf(doc m) string {
	kind, _ := doc["type"].(string)
	return kind
}

// aim is a policy whose refs to routes are refs to one.
func (d draw) aim(v any, to m) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = d.aim(v[i], to)
		}
		return out
	case m:
		if kind, _ := v["kind"].(string); rulesOf[kind] != nil {
			ref := m{"kind": to["type"], "name": to["name"]}
			if names := rulesOf[kindOf(to)](to["spec"].(m)); len(names) > 0 && d.chance(4) {
				ref["sectionName"] = one(d, names...)
			}
			return ref
		}
		out := m{}
		for _, k := range sortedKeys(v) { // for equal draws
			out[k] = d.aim(v[k], to)
		}
		return out
	}
	return v
}

// rulesOf are the names by which policies target rules of the routes of each language.
var rulesOf = map[string]func(spec m) []string{
	"MeshHTTPRoute": func(spec m) []string { return numbered("0.", spec["to"].([]any)[0].(m)["rules"]) },
	"HTTPRoute":     named,
	"GRPCRoute":     named,
	"HTTPProxy":     func(spec m) []string { return numbered("", spec["routes"]) },
	"RouteGroup":    func(spec m) []string { return numbered("", spec["routes"]) },
}

func numbered(before string, rules any) []string {
	list, _ := rules.([]any)
	var out []string
	for i := range list {
		out = append(out, before+strconv.Itoa(i))
	}
	return out
}

func named(spec m) []string {
	list, _ := spec["rules"].([]any)
	var out []string
	for _, r := range list {
		if name, ok := r.(m)["name"].(string); ok {
			out = append(out, name)
		}
	}
	return out
}
