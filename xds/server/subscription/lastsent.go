package subscription

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/xds/resource"
)

// LastSent is which version of each resource of one type a client has. As a rule it has just
// what it should have: then list is that list itself, which costs the stream nothing. A
// value never changes.
type LastSent struct {
	// list are the resources that it has under the versions of their content, sorted by
	// name.
	list []*resource.Resource
	// other are the versions of those that it has under another one, or of which nobody
	// here has the content: by name, none of which is in list.
	other map[string]string
}

// Version is what the client has of a name; false for nothing.
func (t LastSent) Version(name string) (string, bool) {
	if v, ok := t.other[name]; ok {
		return v, true
	}
	if r := Find(t.list, name); r != nil {
		return r.Version, true
	}
	return "", false
}

// Len is how many these are.
func (t LastSent) Len() int { return len(t.list) + len(t.other) }

// All yields names and versions, in no order.
func (t LastSent) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, r := range t.list {
			if !yield(r.Name, r.Version) {
				return
			}
		}
		for name, v := range t.other {
			if !yield(name, v) {
				return
			}
		}
	}
}

// with is what the client has when it takes sent, and drops what is removed. Want is
// what it should have of the type.
func (t LastSent) with(want []*resource.Resource, sent []Versioned, removed []string) LastSent {
	var touched map[string]bool
	if t.Len() > 0 {
		touched = make(map[string]bool, len(sent)+len(removed))
		for _, v := range sent {
			touched[v.Name] = true
		}
		for _, name := range removed {
			touched[name] = true
		}
	}
	out := t.without(touched)
	list := make([]*resource.Resource, 0, len(out.list)+len(sent))
	list = append(list, out.list...)
	for _, v := range sent {
		if v.version == v.Version {
			list = append(list, v.Resource)
			continue
		}
		if out.other == nil {
			out.other = map[string]string{}
		}
		out.other[v.Name] = v.version
	}
	Sort(list)
	if out.list = list; slices.EqualFunc(list, want, sameContent) {
		out.list = want
	}
	return out
}

// sameContent reports whether both are one resource of one version.
func sameContent(a, b *resource.Resource) bool {
	return a == b || a.Name == b.Name && a.Version == b.Version
}

// without is t without some names. Its map is its own.
func (t LastSent) without(names map[string]bool) LastSent {
	out := LastSent{list: t.list}
	for name, version := range t.other { // and no clone, which would keep room for what goes
		if names[name] {
			continue
		}
		if out.other == nil {
			out.other = map[string]string{}
		}
		out.other[name] = version
	}
	if len(names) == 0 {
		return out
	}
	has := func(r *resource.Resource) bool { return names[r.Name] }
	if slices.ContainsFunc(t.list, has) {
		out.list = slices.DeleteFunc(slices.Clone(t.list), has)
	}
	return out
}

// only is t without the names that a client does not want.
func (t LastSent) only(wants func(string) bool) LastSent {
	var gone map[string]bool
	for name := range t.All() {
		if wants(name) {
			continue
		}
		if gone == nil {
			gone = map[string]bool{}
		}
		gone[name] = true
	}
	if gone == nil {
		return t
	}
	return t.without(gone)
}

// unsubscribed is t after a client of the delta form unsubscribed from names. What it has
// of them is as if it was never sent; marked are those of which it awaits all the same
// whether they are there, since it wants everything: of them it has a version that nothing
// has.
func (t LastSent) unsubscribed(names []string, marked map[string]string) LastSent {
	gone := make(map[string]bool, len(names))
	for _, name := range names {
		if name != wildcard {
			gone[name] = true
		}
	}
	out := t.without(gone)
	for name := range gone {
		if _, ok := marked[name]; !ok {
			continue
		}
		if out.other == nil {
			out.other = map[string]string{}
		}
		out.other[name] = ""
	}
	return out
}

// Brought is what a client says that it has from an earlier stream; want is what it should have.
func Brought(versions map[string]string, want []*resource.Resource) LastSent {
	var has []Versioned
	other := map[string]string{}
	for name, version := range versions {
		if r := Find(want, name); r != nil && r.Version == version {
			has = append(has, Versioned{Resource: r, version: version})
		} else {
			other[name] = version
		}
	}
	return LastSent{other: other}.with(want, has, nil)
}

// wildcard is the name by which a client asks for everything of a type.
const wildcard = "*"
