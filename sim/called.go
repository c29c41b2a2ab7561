package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// maxNames is how many dataplanes that are called alike are named.
const maxNames = 10

// backends are the shares, each with the dataplanes that are called for it.
func (t trace) backends(list []effective.Backend) []Backend {
	out := shares(t.from, list, t.draws)
	for n, b := range effective.Sharing(list) {
		use := t.from.ClusterNamed(b.Cluster)
		if use.Endpoints != nil {
			out[n].Inbounds = t.inbounds(use.List)
		}
		if use.Cluster != nil {
			out[n].http2 = use.HTTP2 || use.Destination != nil && (use.Destination.Protocol == api.HTTP2 || use.Destination.Protocol == api.GRPC)
		}
	}
	return out
}

// inbounds groups those who answer at these addresses by how they treat requests.
func (t trace) inbounds(list []effective.Endpoint) []Inbound {
	var out []Inbound
	at := map[string]int{}
	last := map[int]api.Ref{} // counted last in a group: a dataplane may answer at two ports
	for i := range list {
		own := t.inboundAt(&list[i])
		if own == nil {
			continue
		}
		in := own.AsDocumented()
		names := t.proves(&list[i], in, in != own)
		holds := in.PoliciesOf(names)
		key := fingerprint(in, holds) + how(in, names)
		n, ok := at[key]
		if !ok {
			n = len(out)
			at[key] = n
			out = append(out, Inbound{Protocol: in.Protocol, Policies: PolicyViews(holds, in.Protocol), Outcome: Forward, inbound: in, names: names, holds: holds})
		}
		g := &out[n]
		g.Share += 1 / float64(len(list))
		if ref := list[i].Dataplane; last[n] != ref {
			last[n] = ref
			g.Dataplanes++
			if len(g.Names) < maxNames {
				g.Names = append(g.Names, ref.FullName())
			}
		}
	}
	return out
}

// how tells inbounds apart by how the caller comes in.
func how(in *effective.Inbound, names []string) string {
	switch {
	case in.TLS == nil:
		return ""
	case len(names) > 0:
		return " mtls"
	case in.TLS.TakesPlain():
		return " plain"
	}
	return " refused"
}

// inboundAt is the port of a dataplane behind an endpoint; nil outside the mesh.
func (t trace) inboundAt(e *effective.Endpoint) *effective.Inbound {
	if e.Dataplane == (api.Ref{}) {
		return nil
	}
	r, ok := t.world.Dataplane(e.Dataplane)
	if !ok {
		return nil
	}
	for _, in := range r.Inbounds {
		if in.Port == e.Port && in.Address == e.Address {
			return in.Inbound
		}
	}
	return nil
}

// fingerprint is equal for inbounds that treat requests alike and say so alike. What adds up is
// one value for all about which the same is said: whole lists of callers are not written for
// each endpoint.
func fingerprint(in *effective.Inbound, holds effective.Policies) string {
	var b strings.Builder
	var folded effective.Policies
	for _, e := range holds {
		if e.Kind.Collect != nil {
			fmt.Fprintf(&b, "%p ", e)
		} else {
			folded = append(folded, e)
		}
	}
	for i := range in.Rules {
		fmt.Fprintf(&b, "%s %p %s;", in.Rules[i].Match.Text(), in.Rules[i].Permission, in.Rules[i].Closed)
	}
	text, err := json.Marshal(PolicyViews(folded, in.Protocol))
	if err != nil {
		panic(err) // confs came from JSON
	}
	return string(in.Protocol) + " " + b.String() + string(text)
}
