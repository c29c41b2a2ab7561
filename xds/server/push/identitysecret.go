package push

import (
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/subscription"
)

// withSecret is a state with the secret that a stream alone is served, nil for none, where something in the
// state asks for one.
func withSecret(secret *resource.Resource, state *resource.State, r *effective.Resolved) *resource.State {
	if secret == nil || !asksForKey(r) {
		return state
	}
	out := *state
	out.Secrets = slices.DeleteFunc(slices.Clone(state.Secrets), func(x *resource.Resource) bool { return x.Name == secret.Name })
	out.Secrets = append(out.Secrets, secret)
	subscription.Sort(out.Secrets)
	return &out
}

// asksForKey reports whether the Envoy of a dataplane asks for a certificate over ADS.
func asksForKey(r *effective.Resolved) bool {
	return r.OverADS && (r.TLS || slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool { return i.TLS != nil }))
}

// keepsSecret reports whether the client goes on with a secret of an earlier stream until it is given
// another one.
func keepsSecret(r *effective.Resolved, t subscription.ResourceType, name string) bool {
	return t == subscription.Secrets && r != nil && asksForKey(r) && name == naming.IdentitySecret(r.Ref.Mesh)
}
