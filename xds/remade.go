package xds

import (
	"sync"
	"weak"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// owner is a dataplane as far as its listeners depend on it.
type owner struct {
	ref        api.Ref
	redirected bool // its traffic is redirected to them
}

func ownerOf(r *effective.Resolved) owner { return owner{r.Ref, transparent(r)} }

// part is which of the resources of an inbound one is.
type part uint8

const (
	partListener part = iota
	partRoutes
	partCluster
	parts
)

// remade has the contents of the resources of one inbound. No other sidecar has them, and once
// they were sent nobody asks for them as a rule: kept, they were most of what a sidecar costs its
// control plane. So they are kept for as long as the collector leaves them alone, and rendered
// again for who asks later: rendering is a function of what stands here, and gives the same bytes.
type remade struct {
	by    *Renderer
	owner owner
	of    *effective.Inbound

	mu   sync.Mutex
	made weak.Pointer[[parts]*anypb.Any]
}

// contents are those of the resources, nil for those that there are not.
func (m *remade) contents() *[parts]*anypb.Any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if made := m.made.Value(); made != nil {
		return made
	}
	made := m.by.renderInbound(m.owner, m.of).contents()
	m.made = weak.Make(made)
	return made
}

// contents are those of the resources as they were rendered.
func (o *ownInbound) contents() *[parts]*anypb.Any {
	var all [parts]*anypb.Any
	for p, r := range o.resources() {
		if r != nil {
			all[p] = r.content
		}
	}
	return &all
}

func (o *ownInbound) resources() [parts]*Resource {
	return [parts]*Resource{partListener: o.listener, partRoutes: o.routes, partCluster: o.cluster}
}

// release has the contents made again once the collector has taken them.
func (o *ownInbound) release(x *Renderer, whose owner, i *effective.Inbound) *ownInbound {
	m := &remade{by: x, owner: whose, of: i, made: weak.Make(o.contents())}
	for p, r := range o.resources() {
		if r != nil {
			r.content, r.remade, r.part = nil, m, part(p)
		}
	}
	return o
}
