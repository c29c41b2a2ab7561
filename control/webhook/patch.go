package webhook

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// operation is one of JSON Patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	From  string `json:"from,omitempty"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patchOf is what makes after of before, both as they are in JSON. Lists of things with
// names are compared by name: a container that comes before others is one addition, and
// those that were there stay as they were sent, with fields that weft does not know.
func patchOf(before, after any) ([]operation, error) {
	a, err := tree(before)
	if err != nil {
		return nil, err
	}
	b, err := tree(after)
	if err != nil {
		return nil, err
	}
	return changes(nil, "", a, b), nil
}

func tree(v any) (out any, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(text, &out)
}

func changes(to []operation, at string, a, b any) []operation {
	if am, ok := a.(map[string]any); ok {
		if bm, ok := b.(map[string]any); ok {
			return members(to, at, am, bm)
		}
	}
	if al, ok := a.([]any); ok {
		if bl, ok := b.([]any); ok {
			return items(to, at, al, bl)
		}
	}
	if !reflect.DeepEqual(a, b) {
		to = append(to, operation{Op: "replace", Path: at, Value: b})
	}
	return to
}

func members(to []operation, at string, a, b map[string]any) []operation {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, stays := b[name]; !stays {
			to = append(to, operation{Op: "remove", Path: below(at, name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if was, there := a[name]; there {
			to = changes(to, below(at, name), was, b[name])
		} else {
			to = append(to, operation{Op: "add", Path: below(at, name), Value: b[name]})
		}
	}
	return to
}

// items compares lists by name where all items have one of their own, else whole.
func items(to []operation, at string, a, b []any) []operation {
	if reflect.DeepEqual(a, b) {
		return to
	}
	have, want := names(a), names(b)
	if have == nil || want == nil {
		return append(to, operation{Op: "replace", Path: at, Value: b})
	}
	list, stays := slices.Clone(a), map[string]bool{}
	for _, name := range want {
		stays[name] = true
	}
	for i := len(have) - 1; i >= 0; i-- {
		if !stays[have[i]] {
			to = append(to, operation{Op: "remove", Path: below(at, strconv.Itoa(i))})
			have, list = slices.Delete(have, i, i+1), slices.Delete(list, i, i+1)
		}
	}
	for i, name := range want {
		here := below(at, strconv.Itoa(i))
		from := i // as most of those that were there, behind what has been added
		if i >= len(have) || have[i] != name {
			from = slices.Index(have, name)
		}
		if from < 0 {
			to = append(to, operation{Op: "add", Path: here, Value: b[i]})
			have, list = slices.Insert(have, i, name), slices.Insert(list, i, b[i])
			continue
		}
		if from != i {
			to = append(to, operation{Op: "move", From: below(at, strconv.Itoa(from)), Path: here})
			moved := list[from]
			have, list = slices.Delete(have, from, from+1), slices.Delete(list, from, from+1)
			have, list = slices.Insert(have, i, name), slices.Insert(list, i, moved)
		}
		to = changes(to, here, list[i], b[i])
	}
	return to
}

// names are those of the items of a list; nil where one has none, or two have the same.
func names(list []any) []string {
	out, seen := []string{}, make(map[string]bool, len(list))
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, ok := m["name"].(string)
		if !ok || seen[name] {
			return nil
		}
		seen[name] = true
		out = append(out, name)
	}
	return out
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func below(at, name string) string { return at + "/" + pointer.Replace(name) }
