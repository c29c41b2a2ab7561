package server

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// Give serves a secret on one stream of a dataplane, by the number of the stream, and on no
// other, instead of the one that it was given before; false where the stream is over.
func (s *Server) Give(dp api.Ref, number uint64, secret *resource.Resource) bool {
	s.mu.Lock()
	var st *stream
	if p := s.peers[dp]; p != nil {
		if i := slices.IndexFunc(p.streams, func(x *stream) bool { return x.peer.Stream == number }); i >= 0 {
			st = p.streams[i]
		}
	}
	s.mu.Unlock()
	return st != nil && st.give(secret)
}

func (st *stream) give(secret *resource.Resource) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return false
	}
	st.private = secret
	if st.want != nil && st.resolved != nil {
		if now := st.withPrivate(st.want, st.resolved); now != st.want {
			st.replace(now, st.revision)
			st.pump()
		}
	}
	return true
}

// withPrivate is a state with the secret that the stream alone has, where something in it asks
// for one.
func (st *stream) withPrivate(state *resource.State, r *effective.Resolved) *resource.State {
	if st.private == nil || !asksForKey(r) {
		return state
	}
	secret := st.private
	out := *state
	out.Secrets = slices.DeleteFunc(slices.Clone(state.Secrets), func(x *resource.Resource) bool { return x.Name == secret.Name })
	out.Secrets = append(out.Secrets, secret)
	sortByName(out.Secrets)
	return &out
}

// asksForKey reports whether the Envoy of a dataplane asks for a certificate over ADS.
func asksForKey(r *effective.Resolved) bool {
	return r.OverADS && (r.TLS || slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool { return i.TLS != nil }))
}

// early reports whether it is not known yet that the client makes no key: what it would be sent
// has it ask for its certificate where nobody serves one.
func (st *stream) early(r *effective.Resolved) bool {
	return st.peer.Proof != nil && r.Identity != nil && !r.OverADS
}

// keeps reports whether the client goes on with a secret of an earlier stream until it is given
// another one.
func (st *stream) keeps(k kind, name string) bool {
	return k == secrets && st.resolved != nil && asksForKey(st.resolved) && name == naming.IdentitySecret(st.resolved.Ref.Mesh)
}
