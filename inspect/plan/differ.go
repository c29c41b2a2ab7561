package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// differ compares dataplanes, and keeps what it found about what they share.
type differ struct {
	renderer *xds.Renderer
	effects  entries[string, Effect]
	envoy    entries[resourceKey, Resource]
	pairs    map[resourceKey]resourcePair
	refs     []api.Ref // of dataplanes that were looked at

	outbounds map[outboundPair][]*entry[Effect]
	inbounds  map[policyPair][]*entry[Effect]
	clusters  map[clusterPair][]*entry[Effect]
	endpoints map[endpointsPair][]*entry[Effect]

	leads    map[*effective.Table][]string // the clusters of other destinations that it names
	connects map[*effective.TCPTable][]string

	mayLose map[api.Ref]bool // an effect that they have
	notes   []api.Note       // on dataplanes that cannot be compared
}

// entry is an effect or a resource, with the dataplanes that have it.
type entry[T any] struct {
	what T
	on   []int32 // in differ.refs
}

// entries are each once, in the order in which they were first met. K tells them apart.
type entries[K comparable, T any] struct {
	known map[K]*entry[T]
	all   []*entry[T]
}

// of is the entry of what; those of one key are one.
func (e *entries[K, T]) of(key K, what T) *entry[T] {
	if known := e.known[key]; known != nil {
		return known
	}
	if e.known == nil {
		e.known = map[K]*entry[T]{}
	}
	x := &entry[T]{what: what}
	e.known[key] = x
	e.all = append(e.all, x)
	return x
}

// effect is the entry of an effect.
func (d *differ) effect(e Effect) *entry[Effect] { return d.effects.of(string(text(e)), e) }

// resource is the entry of a resource of Envoy's, as it is met first at a dataplane that gets
// the next number.
func (d *differ) resource(r Resource, was, is *resource.Resource) *entry[Resource] {
	key := resourceKey{r.Mesh, r.Type, r.Name, r.Action}
	if d.envoy.known[key] == nil {
		d.pairs[key] = resourcePair{was, is, int32(len(d.refs))}
	}
	return d.envoy.of(key, r)
}

type resourceKey struct{ mesh, typ, name, action string }

// at adds a dataplane, once.
func (x *entry[T]) at(dp int32) {
	if n := len(x.on); n == 0 || x.on[n-1] != dp {
		x.on = append(x.on, dp)
	}
}

// The pairs are of shared values: equal pointers mean equal values.
type (
	outboundPair struct {
		mesh                       string
		destination                sim.Destination
		before, after              *effective.Table
		connections, newer         *effective.TCPTable
		policiesBefore, policiesBy listOf
		was, is                    api.Protocol
		onward                     string // the clusters of other destinations, before and after
	}
	policyPair struct {
		mesh          string
		inbound       Inbound
		before, after listOf
		was, is       api.Protocol
	}
	clusterPair struct {
		mesh          string
		before, after *effective.Cluster
		was, is       api.Protocol
	}
	endpointsPair struct {
		mesh          string
		destination   sim.Destination
		before, after *effective.Endpoints
	}
)

// listOf tells lists of policies apart: by where they are.
type listOf struct {
	first **policies.Effective
	n     int
}

func identity(p effective.Policies) listOf {
	if len(p) == 0 {
		return listOf{}
	}
	return listOf{&p[0], len(p)}
}

func newDiffer(x *xds.Renderer) *differ {
	return &differ{renderer: x, outbounds: map[outboundPair][]*entry[Effect]{}, inbounds: map[policyPair][]*entry[Effect]{},
		clusters: map[clusterPair][]*entry[Effect]{}, endpoints: map[endpointsPair][]*entry[Effect]{},
		leads: map[*effective.Table][]string{}, connects: map[*effective.TCPTable][]string{}, pairs: map[resourceKey]resourcePair{}, mayLose: map[api.Ref]bool{}}
}

// safely is dataplane. A bug that keeps one from being compared is a note on it, for the plan tells
// of the others; it counts as one at which something changes.
func (d *differ) safely(ref api.Ref, before, after *effective.Resolved) (changes bool) {
	defer func() {
		if bug := recover(); bug != nil {
			d.notes, changes = append(d.notes, notes.Failure(ref, bug)), true
		}
	}()
	return d.dataplane(ref, before, after)
}

// dataplane notes what changes at one, nil where it is not there, and reports whether
// anything does.
func (d *differ) dataplane(ref api.Ref, before, after *effective.Resolved) bool {
	if before == after {
		return false
	}
	effects, resources := d.compared(ref, before, after), d.changed(ref, before, after)
	if after != nil && after.Failed != "" { // nothing is known to be gone, and its sidecar keeps it
		effects = slices.DeleteFunc(effects, func(x *entry[Effect]) bool { return x.what.After == nil })
	}
	dp := d.number(ref)
	for _, x := range effects {
		x.at(dp)
	}
	for _, x := range resources {
		x.at(dp)
	}
	return len(effects)+len(resources) > 0
}

// number is a dataplane as entries name it. Those that are told apart come one after another.
func (d *differ) number(ref api.Ref) int32 {
	d.refs = append(d.refs, ref)
	return int32(len(d.refs) - 1)
}

func (d *differ) compared(ref api.Ref, before, after *effective.Resolved) []*entry[Effect] {
	base := Effect{Mesh: ref.Mesh}
	switch {
	case before == nil:
		base.Section, base.After = SectionDataplane, ref.FullName()
	case after == nil:
		base.Section, base.Before = SectionDataplane, ref.FullName()
	default:
		return slices.Concat(d.outboundsOf(base, before, after), d.inboundsOf(base, before, after), d.wholeOf(base, before, after), d.clustersOf(base, before, after))
	}
	return []*entry[Effect]{d.effect(base)}
}

// told are the effects that somebody has: the first of them, and how many there are beyond.
func (d *differ) told(b *step.Budget) (out []Effect, cut int) {
	return firstOf(d, d.effects.all, b, func(e *Effect, on step.Listed) { e.Listed = on })
}

// resources are those that somebody has, by type and name, and how many there are beyond.
func (d *differ) resources(b *step.Budget) ([]Resource, int) {
	slices.SortStableFunc(d.envoy.all, func(x, y *entry[Resource]) int {
		return cmp.Or(cmp.Compare(x.what.Mesh, y.what.Mesh), cmp.Compare(x.what.Type, y.what.Type), cmp.Compare(x.what.Name, y.what.Name))
	})
	return firstOf(d, d.envoy.all, b, func(r *Resource, on step.Listed) { r.Listed = on })
}

// draining is how many listeners are made anew or taken away.
func (d *differ) draining() (n int) {
	for _, x := range d.envoy.all {
		if x.what.Type == "Listener" && x.what.Action != "create" {
			n += len(x.on)
		}
	}
	return n
}

// firstOf are the first entries that somebody has, each with those who have it.
func firstOf[T any](d *differ, all []*entry[T], b *step.Budget, set func(*T, step.Listed)) (out []T, cut int) {
	out = []T{}
	for _, x := range all {
		switch {
		case len(x.on) == 0:
		case len(out) == step.Longest:
			cut++
		default:
			set(&x.what, b.Name(len(x.on), func(i int) api.Ref { return d.refs[x.on[i]] }))
			out = append(out, x.what)
		}
	}
	return out, cut
}

// text is v as it is told. What cannot be told is equal to nothing else that cannot.
func text(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return out
}

// differs reports whether two values are told differently.
func differs(a, b any) bool {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x != y
		}
	case nil:
		if b == nil {
			return false
		}
	}
	return !bytes.Equal(text(a), text(b))
}
