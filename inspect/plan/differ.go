package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds"
)

// differ compares dataplanes, and keeps what it found about what they share.
type differ struct {
	renderer *xds.Renderer
	effects  entries[Effect]
	envoy    entries[Resource]

	outbounds map[outboundPair][]*entry[Effect]
	inbounds  map[policyPair][]*entry[Effect]
	clusters  map[clusterPair][]*entry[Effect]
	endpoints map[endpointsPair][]*entry[Effect]

	mayLose map[api.Ref]bool // an effect that they have
}

// entry is an effect or a resource, with the dataplanes that have it.
type entry[T any] struct {
	what T
	on   []api.Ref
}

// entries are each once, in the order in which they were first met.
type entries[T any] struct {
	known map[string]*entry[T]
	all   []*entry[T]
}

// of is the entry of what; equal ones are one.
func (e *entries[T]) of(what T) *entry[T] {
	key := string(text(what))
	if known := e.known[key]; known != nil {
		return known
	}
	if e.known == nil {
		e.known = map[string]*entry[T]{}
	}
	x := &entry[T]{what: what}
	e.known[key] = x
	e.all = append(e.all, x)
	return x
}

// at adds a dataplane, once.
func (x *entry[T]) at(ref api.Ref) {
	if n := len(x.on); n == 0 || x.on[n-1] != ref {
		x.on = append(x.on, ref)
	}
}

// The pairs are of shared values: equal pointers mean equal values.
type (
	outboundPair struct {
		mesh                       string
		destination                sim.Destination
		before, after              *resolve.Table
		connections, newer         *resolve.TCPTable
		policiesBefore, policiesBy listOf
		was, is                    api.Protocol
	}
	policyPair struct {
		mesh          string
		inbound       Inbound
		before, after listOf
		was, is       api.Protocol
	}
	clusterPair struct {
		mesh          string
		before, after *resolve.Cluster
		was, is       api.Protocol
	}
	endpointsPair struct {
		mesh          string
		destination   sim.Destination
		before, after *resolve.Endpoints
	}
)

// listOf tells lists of policies apart: by where they are.
type listOf struct {
	first **policies.Effective
	n     int
}

func identity(p resolve.Policies) listOf {
	if len(p) == 0 {
		return listOf{}
	}
	return listOf{&p[0], len(p)}
}

func newDiffer(x *xds.Renderer) *differ {
	return &differ{renderer: x, outbounds: map[outboundPair][]*entry[Effect]{}, inbounds: map[policyPair][]*entry[Effect]{},
		clusters: map[clusterPair][]*entry[Effect]{}, endpoints: map[endpointsPair][]*entry[Effect]{},
		mayLose: map[api.Ref]bool{}}
}

// dataplane notes what changes at one, nil where it is not there, and reports whether
// anything does.
func (d *differ) dataplane(ref api.Ref, before, after *resolve.Resolved) bool {
	if before == after {
		return false
	}
	effects, resources := d.compared(ref, before, after), d.changed(ref, before, after)
	for _, x := range effects {
		x.at(ref)
	}
	for _, x := range resources {
		x.at(ref)
	}
	return len(effects)+len(resources) > 0
}

func (d *differ) compared(ref api.Ref, before, after *resolve.Resolved) []*entry[Effect] {
	base := Effect{Mesh: ref.Mesh}
	switch {
	case before == nil:
		base.Part, base.After = PartDataplane, ref.FullName()
	case after == nil:
		base.Part, base.Before = PartDataplane, ref.FullName()
	default:
		return slices.Concat(d.outboundsOf(base, before, after), d.inboundsOf(base, before, after), d.clustersOf(base, before, after))
	}
	return []*entry[Effect]{d.effects.of(base)}
}

// told are the effects that somebody has.
func (d *differ) told() []Effect {
	out := []Effect{}
	for _, x := range d.effects.all {
		if len(x.on) > 0 {
			x.what.On = onOf(x.on)
			out = append(out, x.what)
		}
	}
	return out
}

// resources are those that somebody has, by type and name.
func (d *differ) resources() []Resource {
	out := []Resource{}
	for _, x := range d.envoy.all {
		if len(x.on) > 0 {
			x.what.On = onOf(x.on)
			out = append(out, x.what)
		}
	}
	slices.SortStableFunc(out, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Mesh, b.Mesh), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	return out
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
func differs(a, b any) bool { return !bytes.Equal(text(a), text(b)) }
