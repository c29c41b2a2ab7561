package server

import (
	"iter"
	"slices"

	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/weftmesh/weft/xds/resource"
)

// told is which version of each resource of one type a client has. As a rule it has just
// what it should have: then list is that list itself, which costs the stream nothing. A
// value never changes.
type told struct {
	// list are the resources that it has under the versions of their content, sorted by
	// name.
	list []*resource.Resource
	// other are the versions of those that it has under another one, or of which nobody
	// here has the content: by name, none of which is in list.
	other map[string]string
}

// version is what the client has of a name; false for nothing.
func (t told) version(name string) (string, bool) {
	if v, ok := t.other[name]; ok {
		return v, true
	}
	if r := find(t.list, name); r != nil {
		return r.Version, true
	}
	return "", false
}

func (t told) len() int { return len(t.list) + len(t.other) }

// all yields names and versions, in no order.
func (t told) all() iter.Seq2[string, string] {
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
func (t told) with(want []*resource.Resource, sent []versioned, removed []string) told {
	var touched map[string]bool
	if t.len() > 0 {
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
	sortByName(list)
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
func (t told) without(names map[string]bool) told {
	out := told{list: t.list}
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
func (t told) only(wants func(string) bool) told {
	var gone map[string]bool
	for name := range t.all() {
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

// subscribeOnly takes the names that a client now asks for: what it had of others is as if it
// was never sent.
func (f *flow) subscribeOnly(sub cache.Subscription) {
	if sub.IsWildcard() {
		return
	}
	f.told = f.told.only(func(name string) bool {
		_, ok := sub.SubscribedResources()[name]
		return ok
	})
}

// unsubscribe takes what a request of the delta form changes, after the library took it
// into sub.
func (f *flow) unsubscribe(subscribe, unsubscribe []string, sub cache.Subscription) {
	f.named = f.named || len(subscribe) > 0
	if f.named && len(unsubscribe) > 0 { // else the library takes no notice
		f.told = f.told.unsubscribed(unsubscribe, sub.ReturnedResources())
	}
	if f.named && slices.Contains(unsubscribe, wildcard) { // it drops what it has not asked for by name
		f.subscribeOnly(sub)
	}
}

// unsubscribed is t after a client of the delta form unsubscribed from names. What it has
// of them is as if it was never sent; marked are those of which it awaits all the same
// whether they are there, since it wants everything: of them it has a version that nothing
// has.
func (t told) unsubscribed(names []string, marked map[string]string) told {
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

// wildcard is the name by which a client asks for everything of a type.
const wildcard = "*"
