package issuer

import (
	"context"
	"errors"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/certificates"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
)

// CAAdmin are the authorities of a control plane as its API shows and turns them.
type CAAdmin struct {
	*Revocations
	controller *authorities.CAController
	leader     forwarder
}

// forwarder passes a request on to the replica that leads.
type forwarder interface {
	Send(ctx context.Context, text []byte) (*peers.Outcome, error)
}

// NewCAAdmin are those that keeper keeps; leader is nil where this replica knows no other.
func NewCAAdmin(x *Revocations, keeper *authorities.CAController, leader forwarder) CAAdmin {
	return CAAdmin{x, keeper, leader}
}

// Authorities are those of a mesh.
func (s CAAdmin) Authorities(mesh string) (out []mtls.Authority) {
	for _, x := range s.controller.Standings(mesh) {
		out = append(out, authorityOf(x))
	}
	return out
}

// Roots are those of a mesh.
func (s CAAdmin) Roots(mesh string) []mtls.Root { return s.controller.Roots(mesh) }

// Rotate replaces a root, or goes back. In a cluster the leader does.
func (s CAAdmin) Rotate(ctx context.Context, owner api.Ref, ask certificates.RootRotation) (mtls.Rotated, error) {
	out, err := s.rotate(ctx, owner, ask)
	if errors.Is(err, store.ErrNotLeading) {
		return s.sendRotation(ctx, owner, ask)
	}
	return out, err
}

func (s CAAdmin) rotate(ctx context.Context, owner api.Ref, ask certificates.RootRotation) (mtls.Rotated, error) {
	turned, err := s.controller.Rotate(ctx, owner, authorities.Rotation{Abort: ask.Abort, Force: ask.Force, Now: ask.Now, Spread: ask.Spread, Dry: ask.Dry})
	var not authorities.ErrRotation
	switch {
	case errors.Is(err, authorities.ErrNoAuthority):
		return mtls.Rotated{}, httpapi.Refusal(http.StatusNotFound, owner.String()+" has no authority of weft; set Mesh.mtls.enabledBackend, or name a MeshIdentity of type Bundled")
	case errors.As(err, &not):
		return mtls.Rotated{}, httpapi.Refusal(http.StatusConflict, owner.String()+": "+err.Error())
	case err != nil:
		return mtls.Rotated{}, err
	}
	out := mtls.Rotated{DryRun: ask.Dry, Authority: mtls.Authority{Of: owner.String(), Roots: []mtls.AuthorityRoot{}}}
	s.controller.Take(s.Own.Snapshot())
	for _, x := range s.controller.Standings(meshOf(owner)) {
		if x.Owner == owner {
			out.Authority = authorityOf(x)
		}
	}
	out.Authority.Phase = string(turned.Phase)
	if ask.Force || ask.Now {
		broken := waitOf(turned.Broken)
		out.Broken = &broken
	}
	return out, nil
}

// meshOf is the mesh whose authority a document has.
func meshOf(owner api.Ref) string {
	if owner.Kind == api.KindMesh {
		return owner.Name
	}
	return owner.Mesh
}

func waitOf(w rotation.Waiting) mtls.AuthorityWait {
	return mtls.AuthorityWait{Count: w.Count, Names: w.Names, Until: w.Until}
}

func authorityOf(x authorities.Standing) mtls.Authority {
	out := mtls.Authority{Of: x.Owner.String(), TrustDomain: x.Domain, Problem: x.Fault, Roots: []mtls.AuthorityRoot{}}
	if x.Outside {
		out.Provider = api.ProviderSpire
	}
	if x.Stated {
		out.Phase, out.Since, out.Signs = string(x.Phase), x.Since, x.Signer()
	}
	if x.Waiting.Count > 0 || !x.Waiting.Until.IsZero() {
		wait := waitOf(x.Waiting)
		out.WaitsFor = &wait
	}
	for _, r := range x.Roots {
		root := mtls.AuthorityRoot{Backend: r.Name, Fingerprint: r.Fingerprint, NotAfter: r.Ends, Provided: !r.Own && !x.Outside, Said: r.Said, Problem: r.Fault, Certificates: x.Certificates[r.Fingerprint], Role: mtls.RootTrusted}
		if r.Left {
			root.Problem = "its document names it no more; it is trusted until the last certificate of it has ended"
		}
		switch {
		case !x.Stated || r.Fingerprint == "":
		case r.Fingerprint == x.Signer():
			root.Role = mtls.RootSigns
		case x.Phase != rotation.Steady && r.Fingerprint == x.New.Fingerprint:
			root.Role = mtls.RootNext
		case x.Phase != rotation.Steady && r.Fingerprint == x.Old.Fingerprint:
			root.Role = mtls.RootLeaving
		}
		out.Roots = append(out.Roots, root)
	}
	return out
}
