package tables

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// backend resolves a ref of a route object. One that leads nowhere stays, with
// the reason, so that its share can be answered as its dialect says (spec/kuma.md 2.3).
func (b *tableBuilder) backend(ref *route.BackendRef, own []ownConf) effective.Backend {
	d, lost := b.FindBackend(*ref)
	if lost == nil && !d.Reads(ref.Speaks) {
		lost = services.WrongProtocol(d)
	}
	return b.found(ref, d, lost, effective.Broken{Status: ref.Broken}, own)
}

// connect resolves a ref for connections, to which every protocol is the same.
func (b *tableBuilder) connect(ref *route.BackendRef) effective.Backend {
	d, lost := b.FindBackend(*ref)
	return b.found(ref, d, lost, effective.Broken{Close: true}, nil)
}

// found is a ref that means d, or is lost.
func (b *tableBuilder) found(ref *route.BackendRef, d *services.Destination, lost *services.UnresolvedRef, broken effective.Broken, own []ownConf) effective.Backend {
	out := effective.Backend{Kind: ref.Target.Kind, Name: ref.Target.Name, Namespace: ref.Target.Namespace,
		Tags: ref.Target.Tags, Port: ref.Port, Weight: ref.Weight, Filters: ref.Filters}
	if lost != nil {
		out.Broken, out.Broken.Why = broken, lost.Message
		return out
	}
	out.Kind, out.Name, out.Namespace, out.Port = d.Kind, d.Name, d.Namespace, d.Port
	v := &Variant{out.Tags, ref.Balance, ref.HTTP2 && d.Protocol != api.GRPC && d.Protocol != api.HTTP2, own}
	out.Cluster, out.Balance, out.HTTP2 = v.ClusterName(d.Destination), ref.Balance, v.HTTP2
	b.use(d.Destination, v)
	return out
}
