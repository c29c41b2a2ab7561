package sim

import (
	"slices"

	"github.com/weftmesh/weft/sim/wire"
)

// judged puts what was decided about the branch's requests into it, and makes one branch for
// each decision where the dataplanes that may be called decide differently.
func (b Branch) judged(c *wire.Call) []Branch {
	type part struct {
		key     string
		share   float64
		backend []float64 // of each
	}
	var parts []*part
	add := func(key string, n int, share float64) {
		i := slices.IndexFunc(parts, func(p *part) bool { return p.key == key })
		if i < 0 {
			i = len(parts)
			parts = append(parts, &part{key: key, backend: make([]float64, len(b.Backends))})
		}
		parts[i].share += share
		parts[i].backend[n] += share
	}
	there := false
	for n := range b.Backends {
		x := &b.Backends[n]
		rest := x.Share
		for k := range x.Inbounds {
			in := &x.Inbounds[k]
			add(in.decision(), n, x.Share*in.Share)
			rest -= x.Share * in.Share
			there = there || in.Permission != nil || in.Reason != ""
		}
		if rest > 1e-9 {
			add("", n, rest)
		}
	}
	if !there {
		return []Branch{b}
	}
	var out []Branch
	for _, p := range parts {
		one := b
		one.Probability *= p.share
		one.Backends = nil
		for n := range b.Backends {
			if p.backend[n] == 0 {
				continue
			}
			x := b.Backends[n]
			x.Inbounds = nil
			for _, in := range b.Backends[n].Inbounds {
				if in.decision() == p.key {
					in.Share *= b.Backends[n].Share / p.backend[n]
					x.Inbounds = append(x.Inbounds, in)
				}
			}
			x.Share = p.backend[n] / p.share
			one.Backends = append(one.Backends, x)
		}
		if !slices.ContainsFunc(one.Backends, func(x Backend) bool { return x.called() }) {
			one.Attempts, one.Ends = nil, nil // those of who may be called
		}
		one.decided(c)
		out = append(out, one)
	}
	return out
}

// called reports whether somebody may answer what is sent to a backend, and not the proxy alone.
func (x *Backend) called() bool { return x.Status == 0 || len(x.Inbounds) > 0 }

// decided takes over what all inbounds of the branch have decided.
func (b *Branch) decided(c *wire.Call) {
	for _, x := range b.Backends {
		for _, in := range x.Inbounds {
			if in.Permission == nil && in.Reason == "" {
				continue
			}
			b.Permission, b.Reason = in.Permission, in.Reason
			if !in.denied() && in.Reason == "" {
				return
			}
			b.Forwarded = nil
			if b.Outcome = in.Outcome; b.Outcome == Respond && c != nil {
				own := respond(c, in.Status)
				b.Status, b.GRPCStatus = own.Status, own.GRPCStatus
			} else {
				b.Status = in.Status
			}
			return
		}
	}
}
