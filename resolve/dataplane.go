package resolve

import (
	"cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
)

// dataplane is one Dataplane object, read once.
type dataplane struct {
	object *api.Object
	spec   *api.Dataplane
	facts  matcher.Dataplane
}

func newDataplane(o *api.Object, zone map[string]string) *dataplane {
	spec, _ := o.Spec.(*api.Dataplane)
	if spec == nil || spec.Networking == nil {
		spec = &api.Dataplane{Networking: &api.Networking{}}
	}
	return &dataplane{object: o, spec: spec, facts: matcher.DataplaneOf(o, zone)}
}

// selectedBy reports whether a selector selects the dataplane.
func (p *dataplane) selectedBy(s *matcher.Selector) bool { return s.Selects(&p.facts) }

// resolve is everything that applies to one dataplane, of which nothing is made that
// was there before, nil for none. Of what failed it says why.
func (m dataplanesMesh) resolve(p *dataplane, key string, before *effective.Resolved) *effective.Resolved {
	out := &effective.Resolved{Ref: p.object.Ref, Dataplane: p.object}
	l, failed := m.listened.Get(m.at, key)
	if l != nil {
		out.Outbounds, failed = l.list, cmp.Or(failed, l.failed)
	}
	h, f := m.held.Get(m.at, key)
	if failed = cmp.Or(failed, f); h != nil {
		out.Clusters = h.list
	}
	in, f := m.inbounds.Get(m.at, key)
	if failed = cmp.Or(failed, f); in != nil {
		out.Inbounds, out.Edges = in.list, in.edges
	}
	if len(out.Edges) > 0 {
		out.Secrets = m.secretsOf(out)
	}
	if m.isGuarded() {
		failed = cmp.Or(failed, m.identify(out, key))
	}
	if failed != nil {
		out.Failed = failed.Cause
	}
	if before != nil && out.Is(before) {
		return before
	}
	out.Noted = &effective.Memo{}
	return out
}
