package push

import (
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/subscription"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// progress is how far a client is.
type progress struct {
	resolved  *effective.Resolved // what the client should have now
	failed    bool                // and could not be rendered
	note      string
	synced    bool                // the client has confirmed all of it
	confirmed *effective.Resolved // what the client has last confirmed as a whole
	acked     uint64              // revision that the client had confirmed when it last was synced
	nack      *syncstatus.Nack
	rest      *effective.Resolved // what the client that refuses something has confirmed but for lacks; nil where that is not known
	lacks     []string
}

// changed takes note that the client should have something else, which it refuses or not.
func (p *progress) changed(refusing bool) {
	p.synced, p.rest, p.lacks = false, nil, nil
	p.pastRefusal(refusing)
}

// sync takes note that the client has confirmed all of a revision.
func (p *progress) sync(revision uint64, refusing bool) {
	p.synced, p.acked = true, revision
	if !p.failed {
		p.confirmed = p.resolved
	}
	p.pastRefusal(refusing)
}

// pastRefusal says whether the last refusal still holds.
func (p *progress) pastRefusal(refusing bool) {
	if p.nack == nil {
		return
	}
	n := *p.nack // readers may hold it
	n.Current = refusing
	p.nack = &n
}

// part takes note of what the client that refuses something has confirmed, where that is known, and reports
// whether it was known before and is not now, or the other way round.
func (p *progress) part(lacks []string, known bool) (turned bool) {
	was := p.rest != nil
	if p.rest, p.lacks = nil, nil; known {
		p.rest, p.lacks = p.resolved, lacks
	}
	return was != known
}

// complete reports whether the client has asked for everything that it will
// ask for. It needs all subscriptions quiet.
func complete(subs *subscription.All, want *resource.State, grpc bool) bool {
	if !subs[subscription.Listeners].Requested() {
		return false
	}
	if grpc {
		return true
	}
	if !subs[subscription.Clusters].Requested() {
		return false
	}
	for _, l := range want.Listeners {
		for _, name := range l.Routes {
			if subscription.Find(want.Routes, name) != nil && !subs[subscription.Routes].Wants(name) {
				return false
			}
		}
	}
	for _, s := range want.Secrets {
		if !subs[subscription.Secrets].Wants(s.Name) {
			return false
		}
	}
	for _, c := range want.Clusters {
		if c.EDS && !subs[subscription.Endpoints].Wants(c.Name) {
			return false
		}
	}
	return true
}

// mostLacks bounds the resources that are told apart of a client that refuses some.
const mostLacks = 1000

// lacking are the names of the resources that a client which refuses one should have and has not,
// while nothing else is on its way; false else, and where they are very many.
func lacking(subs *subscription.All, want *resource.State) (out []string, ok bool) {
	if !subs.Resting() {
		return nil, false
	}
	for t := range subs {
		s := &subs[t]
		for _, r := range s.Type().Of(want) {
			if s.Took(r) {
				continue
			}
			if out = append(out, r.Name); len(out) > mostLacks {
				return nil, false
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}
