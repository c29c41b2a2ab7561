package gateway

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// olderVersions are those of the group, and of the group that it was before, whose
// documents are written otherwise today.
var olderVersions = []string{group + "/v1alpha2", group + "/v1beta1", "networking.x-k8s.io/v1alpha1"}

// old is a document in the making.
type old struct{ changes []route.LegacyField }

// fromOlder rewrites an HTTPRoute as it was before v1 (spec/gateway-api.md 7).
func fromOlder(doc map[string]any) ([]map[string]any, []route.LegacyField) {
	var o old
	if v, _ := doc["apiVersion"].(string); slices.Contains(olderVersions, v) {
		doc["apiVersion"] = group + "/" + version
		o.changes = append(o.changes, route.Write("apiVersion", "apiVersion", doc["apiVersion"]))
	}
	if spec, ok := doc["spec"].(map[string]any); ok {
		o.gateways(spec)
		for i, r := range route.ListIn(spec["rules"]) {
			if rule, ok := r.(map[string]any); ok {
				o.rule(rule, api.Path("spec.rules").Index(i))
			}
		}
	}
	return []map[string]any{doc}, o.changes
}

// today is an older HTTPRoute as documents of today.
func today(doc map[string]any) []map[string]any {
	docs, _ := fromOlder(doc)
	return docs
}

// replace puts a value under a new name.
func (o *old) replace(in map[string]any, at api.Path, from, to string, value any) {
	delete(in, from)
	in[to] = value
	o.changes = append(o.changes, route.Write(at.Field(from), to, value))
}

// gateways makes parentRefs of the refs to Gateways.
func (o *old) gateways(spec map[string]any) {
	g, ok := spec["gateways"].(map[string]any)
	if !ok || spec["parentRefs"] != nil {
		return
	}
	refs := route.ListIn(g["gatewayRefs"])
	if refs == nil {
		refs = []any{}
	}
	o.replace(spec, "spec", "gateways", "parentRefs", refs)
}

func (o *old) rule(rule map[string]any, at api.Path) {
	for i, m := range route.ListIn(rule["matches"]) {
		if match, ok := m.(map[string]any); ok {
			o.match(match, at.Field("matches").Index(i))
		}
	}
	o.filters(rule, at)
	forward, ok := rule["forwardTo"].([]any)
	if !ok || rule["backendRefs"] != nil {
		return
	}
	refs := []any{}
	for _, f := range forward {
		if to, ok := f.(map[string]any); ok {
			o.filters(to, at.Field("forwardTo"))
			refs = append(refs, backendOf(to))
		}
	}
	o.replace(rule, at, "forwardTo", "backendRefs", refs)
}

// backendOf is a destination as one flat ref. The name of a Service held over a ref.
func backendOf(to map[string]any) map[string]any {
	out := maps.Clone(to)
	ref, _ := to["backendRef"].(map[string]any)
	delete(out, "backendRef")
	delete(out, "serviceName")
	if name, ok := to["serviceName"]; ok {
		out["name"] = name
		return out
	}
	maps.Copy(out, ref)
	return out
}

func (o *old) match(match map[string]any, at api.Path) {
	if path, ok := match["path"].(map[string]any); ok && path["type"] == "Prefix" {
		o.replace(path, at.Field("path"), "type", "type", "PathPrefix")
	}
	for _, field := range []string{"headers", "queryParams"} {
		asked, ok := match[field].(map[string]any)
		if !ok {
			continue
		}
		values, _ := asked["values"].(map[string]any)
		out := []any{}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			item := map[string]any{"name": name, "value": values[name]}
			if kind := asked["type"]; kind != nil && kind != "Exact" {
				item["type"] = kind
			}
			out = append(out, item)
		}
		o.replace(match, at, field, field, out)
	}
}

func (o *old) filters(in map[string]any, at api.Path) {
	for i, f := range route.ListIn(in["filters"]) {
		filter, _ := f.(map[string]any)
		here := at.Field("filters").Index(i)
		if mirror, ok := filter["requestMirror"].(map[string]any); ok && (mirror["serviceName"] != nil || mirror["port"] != nil) {
			o.replace(filter, here, "requestMirror", "requestMirror", map[string]any{"backendRef": backendOf(mirror)})
		}
		modifier, _ := filter["requestHeaderModifier"].(map[string]any)
		for _, change := range []string{"set", "add"} {
			values, ok := modifier[change].(map[string]any)
			if !ok {
				continue
			}
			out := []any{}
			for _, name := range slices.SortedFunc(maps.Keys(values), strings.Compare) {
				out = append(out, map[string]any{"name": name, "value": values[name]})
			}
			o.replace(modifier, here.Field("requestHeaderModifier"), change, change, out)
		}
	}
}
