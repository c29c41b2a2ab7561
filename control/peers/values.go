package peers

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/xds/server/attached"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

func refOf(d *Dataplane) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: d.GetMesh(), Namespace: d.GetNamespace(), Name: d.GetName()}
}

func named(r api.Ref) *Dataplane {
	return &Dataplane{Mesh: r.Mesh, Namespace: r.Namespace, Name: r.Name}
}

// sidecarOf is what is told of a sidecar by its stream of ADS, if that is here, and that of
// its agent, if that is.
func sidecarOf(ref api.Ref, st syncstatus.Status, agent attached.Stream, isAttached bool) *Sidecar {
	out := &Sidecar{Dataplane: named(ref), Attached: isAttached, Names: agent.Names}
	if !st.Connected {
		return out
	}
	out.Synced, out.Note = st.InSync, st.Note
	if st.Nack != nil && st.Nack.Current {
		out.Refusal = &Refusal{Type: st.Nack.Type, Resources: st.Nack.Resources, Message: st.Nack.Message}
	}
	out.Rest, out.Lacks = st.Rest != nil, st.Lacks
	for _, u := range st.Unconfirmed {
		out.Unconfirmed = append(out.Unconfirmed, &Unconfirmed{Type: u.Type, Asked: u.Requested, Since: u.Since.UnixNano(), Resolving: u.Resolving})
	}
	out.Stream = &Stream{Since: st.Since.UnixNano(), Protocol: st.Protocol, Client: st.Client, Version: st.Version, Agent: st.Agent, Types: map[string]*Counters{}}
	for name, t := range st.Types {
		out.Stream.Types[name] = &Counters{Sent: t.Sent, Acked: t.Acked, Nacked: t.Nacked}
	}
	return out
}

// streamOf is the other way round.
func streamOf(peer string, s *Sidecar) sidecars.Stream {
	of := s.GetStream()
	out := sidecars.Stream{Connected: of != nil, Since: time.Unix(0, of.GetSince()), Protocol: of.GetProtocol(), Client: of.GetClient(), Version: of.GetVersion(),
		Agent: of.GetAgent(), Note: s.GetNote(), ControlPlane: peer, Types: map[string]sidecars.Counters{}}
	for name, t := range of.GetTypes() {
		out.Types[name] = sidecars.Counters{Sent: t.GetSent(), Acked: t.GetAcked(), Nacked: t.GetNacked()}
	}
	return out
}
