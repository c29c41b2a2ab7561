package status

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"
)

// Stamp completes a status as Kubernetes wants it: every condition in it says of which
// generation it speaks, and since when it has its status. Both are JSON, as maps; had is the
// status that stands, from which come the times of what did not change.
func Stamp(want, had map[string]any, generation int64, now time.Time) {
	if _, ok := want["observedGeneration"]; ok {
		want["observedGeneration"] = float64(generation)
	}
	for key, v := range want {
		switch v := v.(type) {
		case map[string]any:
			Stamp(v, object(had[key]), generation, now)
		case []any:
			before := list(had[key])
			for i := range v {
				entry := object(v[i])
				switch {
				case entry == nil:
				case key == "conditions":
					stampCondition(entry, object(like(before, entry, "type")), generation, now)
				default:
					Stamp(entry, object(like(before, entry, "name", "parentRef", "controllerName", "hostnameGeneratorRef")), generation, now)
				}
			}
		}
	}
}

func stampCondition(c, before map[string]any, generation int64, now time.Time) {
	since, _ := before["lastTransitionTime"].(string)
	if since == "" || before["status"] != c["status"] {
		since = now.UTC().Format(time.RFC3339)
	}
	c["lastTransitionTime"], c["observedGeneration"] = since, float64(generation)
	if c["message"] == nil || c["message"] == "" {
		c["message"] = c["reason"] // Kubernetes wants some
	}
}

// like is the entry of a list that is the same as another by some of its fields; nil for
// none, and where the other has none of them.
func like(entries []any, e map[string]any, keys ...string) any {
	for _, x := range entries {
		o, some := object(x), false
		if o != nil && !slices.ContainsFunc(keys, func(k string) bool {
			some = some || e[k] != nil
			return !reflect.DeepEqual(o[k], e[k])
		}) && some {
			return x
		}
	}
	return nil
}

// ours are the types of conditions that weft writes where others may write theirs.
var ours = []any{"Accepted", "ResolvedRefs", "Programmed", "Valid", "Generated"}

// covers reports whether a status says all that want does, and of weft's conditions none
// that want has no more.
func covers(had any, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		h := object(had)
		for k, v := range want {
			if k == "conditions" && !coversConditions(list(h[k]), list(v)) || k != "conditions" && !covers(h[k], v) {
				return false
			}
		}
		return true
	case []any:
		h := list(had)
		if len(h) != len(want) {
			return false
		}
		for i := range want {
			if !covers(h[i], want[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(had, want)
}

// whole are the fields that are left out where they are empty, and that weft alone writes.
var whole = []string{"addresses", "vips", "hostnameGenerators", "dataplaneProxies", "meshServices", "services"}

// Object is a status as JSON; nil of what is none.
func Object(text []byte) (out map[string]any) {
	if json.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

// Says reports whether a status, as it was read, is what want says, as far as it is weft's.
func Says(text []byte, want map[string]any) bool {
	var had map[string]any
	if len(text) > 0 && json.Unmarshal(text, &had) != nil {
		return false
	}
	return same(had, want)
}

// same reports whether a status is what want says, as far as it is weft's.
func same(had, want map[string]any) bool {
	return covers(had, want) && !slices.ContainsFunc(whole, func(k string) bool { return !reflect.DeepEqual(had[k], want[k]) })
}

func coversConditions(had, want []any) bool {
	for _, c := range want {
		if !covers(like(had, object(c), "type"), c) {
			return false
		}
	}
	return !slices.ContainsFunc(had, func(c any) bool {
		return slices.Contains(ours, object(c)["type"]) && like(want, object(c), "type") == nil
	})
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
