package control

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/xds/server"
)

// sidecars shows the state of the streams in the terms of package inspect.
type sidecars struct {
	ads       *server.Server
	loop      *loop
	returning *returning
}

// Sidecars is the state of every dataplane that is or was connected. One whose
// next configuration waits to be published is not in sync, though its stream
// does not know it yet.
func (s sidecars) Sidecars() []inspect.Sidecar {
	waiting := s.loop.unpublished()
	var out []inspect.Sidecar
	for st := range s.ads.Peers() {
		out = append(out, sidecarOf(st, waiting[st.Dataplane]))
	}
	now := time.Now()
	for _, ref := range s.returning.all(now) {
		if _, known := s.ads.Status(ref); !known && s.returning.awaits(ref, now) {
			out = append(out, inspect.Sidecar{Dataplane: ref, Awaited: true})
		}
	}
	slices.SortFunc(out, func(a, b inspect.Sidecar) int { return a.Dataplane.Compare(b.Dataplane) })
	return out
}

// Sidecar is the state of one dataplane.
func (s sidecars) Sidecar(dp api.Ref) (inspect.Sidecar, bool) {
	st, ok := s.ads.Status(dp)
	if !ok {
		return inspect.Sidecar{}, false
	}
	return sidecarOf(st, s.loop.waits(dp)), true
}

func sidecarOf(st server.SyncStatus, waits bool) inspect.Sidecar {
	c := inspect.Sidecar{Dataplane: st.Dataplane, Connected: st.Connected, Published: st.Published, Acked: st.Acked,
		InSync: st.InSync && !waits, Confirmed: st.Confirmed, Note: st.Note}
	if st.Nack != nil && st.Nack.Current {
		c.Refusal = &inspect.Refusal{Type: st.Nack.Type, Resources: st.Nack.Resources, Message: st.Nack.Message}
	}
	return c
}

// Stream is the state of one sidecar.
func (s sidecars) Stream(dp api.Ref) (web.Stream, bool) {
	st, ok := s.ads.Status(dp)
	if !ok {
		return web.Stream{}, false
	}
	out := web.Stream{Connected: st.Connected, Since: st.Since, Until: st.Until, Protocol: st.Protocol, Client: st.Client, Version: st.Version, Agent: st.Agent, Note: st.Note, Types: map[string]web.Counters{}}
	for name, t := range st.Types {
		out.Types[name] = web.Counters{Sent: t.Sent, Acked: t.Acked, Nacked: t.Nacked}
	}
	return out, true
}
