package effective

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// Resolved is everything that applies to one dataplane. It holds pointers to
// values that it shares with every dataplane to which the same applies; all of
// them are immutable, and equal content keeps its pointer from one Model to the
// next, so that a reader sees what changed by comparing pointers.
type Resolved struct {
	Ref       api.Ref
	Dataplane *api.Object  // its Spec is *api.Dataplane
	Outbounds []*Outbound  // by address and port
	Inbounds  []InboundUse // by port
	Edges     []EdgeUse    // by port; of an edge dataplane only
	Whole     *Whole       // what holds of it as a whole; nil for nothing
	Secrets   []SecretUse  // by name; those that Edges show
	Identity  *Identity    // nil for none
	// TLS says that its sidecar has proved who it is, so that it calls by TLS those who take it.
	TLS bool
	// Unseen says that nothing is known of its sidecar, as before it ran for the first time and
	// where documents are all there is: whom it would call by TLS, the documents say.
	Unseen bool
	// OverADS says that the control plane sends it its certificate.
	OverADS bool
	// Quiet says that nothing is to be counted or told of its requests: Mesh.telemetry disables it.
	Quiet bool
	// Closed says who has redirected ports closed that no inbound names; nil where they are open.
	Closed *api.Origin
	Trust  []TrustUse // by name
	// Clusters are those that the tables of Outbounds name, sorted by name.
	Clusters []ClusterUse
	// Failed is the bug because of which not all that applies is known; empty for
	// none. What is not here is then not known to be gone.
	Failed string
	// Noted is for what a proxy does not get of it as it is written.
	Noted *Derived
}

// Proves are the names that its sidecar proves to those whom it calls by TLS: of one of which nothing
// is known those of the documents. There are none where it has no identity, or calls in plain text.
func (r *Resolved) Proves() []string {
	if r.Identity == nil || !r.TLS && !r.Unseen {
		return nil
	}
	return r.Identity.Names
}

// Is reports whether r and o consist of the same.
func (r *Resolved) Is(o *Resolved) bool {
	return r.Dataplane == o.Dataplane && r.Failed == o.Failed && slices.Equal(r.Outbounds, o.Outbounds) &&
		slices.Equal(r.Inbounds, o.Inbounds) && slices.Equal(r.Edges, o.Edges) && r.Whole == o.Whole && slices.Equal(r.Secrets, o.Secrets) && derive.Same(r.Identity, o.Identity) && r.TLS == o.TLS && r.Unseen == o.Unseen && r.OverADS == o.OverADS && r.Quiet == o.Quiet && derive.Same(r.Closed, o.Closed) && slices.Equal(r.Trust, o.Trust) && slices.Equal(r.Clusters, o.Clusters)
}
