package issuer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authn"
)

// permissionKind is the kind of the document of revocations.
var permissionKind = trafficpermission.Kind.Name

// Revocations carry out which identities are revoked, as the document of each mesh says it, wherever
// that came from: the API, a directory, a cluster. Who is called no more the resolver says.
type Revocations struct{ RevocationConfig }

// RevocationConfig is what revocations need.
type RevocationConfig struct {
	Catalog   *api.Catalog
	Store     store.Store // what users write to
	Own       store.Store // what the control plane writes to
	Namespace string      // in which the documents of revocations stand; empty where documents have none
	Waiting   func() error
	Loop      func() *reconcile.Loop
	Changed   func()           // is told when something was revoked or taken back
	End       func(dp api.Ref) // ends the streams of a dataplane
	Log       *slog.Logger
}

func NewRevocations(by RevocationConfig) *Revocations { return &Revocations{by} }

// Document is where the revocations of a mesh stand.
func (x *Revocations) Document(s *snapshot.Snapshot, mesh string) (*api.Object, api.Ref) {
	ref := api.Ref{Kind: permissionKind, Mesh: mesh, Namespace: x.Namespace, Name: api.RevocationsName(mesh)}
	o, _ := s.Get(ref)
	return o, ref
}

// refusing lets nobody in whose identity is revoked.
type refusing struct {
	authn.Authenticator
	*Revocations
}

// Refuse lets nobody in whose identity is revoked.
func (x *Revocations) Refuse(inner authn.Authenticator) authn.Authenticator {
	return refusing{inner, x}
}

// Authenticate lets in whom the inner one lets in, and who is not revoked.
func (r refusing) Authenticate(ctx context.Context, credentials string) (authn.Identity, error) {
	who, err := r.Authenticator.Authenticate(ctx, credentials)
	m := r.Loop().Current()
	if err != nil || m == nil || who.Dataplane.Name == "" {
		return who, err
	}
	if id, by := m.Revoked(who.Dataplane.Resolve(reconcile.Serves(m))); id != "" {
		return authn.Identity{}, status.Errorf(codes.PermissionDenied, "%s is revoked by %s", id, by)
	}
	return who, nil
}

// Follow ends the streams of those that are revoked, until ctx ends or the store is closed.
func (x *Revocations) Follow(ctx context.Context, s store.Store) {
	_, watch := s.Watch()
	defer watch.Stop()
	for {
		now, changes, err := watch.Next(ctx)
		if err != nil {
			return
		}
		for _, c := range changes {
			if ref := c.Ref(); ref.Kind == permissionKind && ref.Name == api.RevocationsName(ref.Mesh) {
				m, err := x.Loop().Model(ctx, now.Revision())
				if err != nil {
					return
				}
				x.end(m, ref.Mesh)
				x.Changed()
			}
		}
	}
}

// end ends the streams of the dataplanes of a mesh that are revoked.
func (x *Revocations) end(m *resolve.Model, mesh string) {
	for dp := range m.Snapshot().Of(api.KindDataplane, mesh) {
		if id, _ := m.Revoked(dp.Ref); id != "" {
			x.Log.Info("a revoked identity", "dataplane", dp.Ref.String(), "identity", id)
			x.End(dp.Ref)
		}
	}
}

// Revoke has an identity of a mesh refused everywhere: it is written into the document of
// revocations, from which all else follows.
func (x *Revocations) Revoke(ctx context.Context, mesh, text string, dry bool) (mtls.RevokedIdentity, error) {
	id, err := spiffe.Parse(text)
	if err != nil || id.Path == "" {
		return mtls.RevokedIdentity{}, httpapi.Refusal(http.StatusBadRequest, "the identity is no SPIFFE ID of a workload; write spiffe://DOMAIN/PATH")
	}
	m, err := reconcile.NewDocuments(x.Store, x.Loop(), x.Waiting).Model(ctx)
	if err != nil {
		return mtls.RevokedIdentity{}, err
	}
	out := mtls.Revoking(m, mesh, text)
	_, ref := x.Document(m.Snapshot(), mesh)
	out.Document, out.DryRun = ref.String(), dry
	if out.Already || dry {
		return out, nil
	}
	_, _, err = x.Own.Apply(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) {
		o, err := x.with(now, mesh, text)
		if err != nil {
			return nil, err
		}
		return []store.Write{{Put: o}}, nil
	})
	if err == nil {
		x.Changed() // before it is answered
	}
	if errors.Is(err, store.ErrKubernetes) {
		o, print := x.with(m.Snapshot(), mesh, text)
		doc, shown := decode.PrintJSON(x.Catalog, o)
		if cmp.Or(print, shown) == nil {
			err = httpapi.Refusal(http.StatusConflict, fmt.Sprintf("documents of a cluster are written there; apply this one by `kubectl apply`: %s", doc))
		}
	}
	return out, err
}

// with is the document of revocations with one more.
func (x *Revocations) with(now *snapshot.Snapshot, mesh, id string) (*api.Object, error) {
	o, ref := x.Document(now, mesh)
	doc := map[string]any{"type": ref.Kind, "mesh": mesh, "name": ref.Name, "spec": map[string]any{"targetRef": map[string]any{"kind": "Mesh"}, "rules": []any{}}}
	if o != nil {
		text, err := decode.PrintJSON(x.Catalog, o)
		if err == nil {
			err = json.Unmarshal(text, &doc)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
	}
	spec, ok := doc["spec"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s has no spec; delete it", ref)
	}
	rules, _ := spec["rules"].([]any)
	spec["rules"] = append(rules, map[string]any{"override": map[string]any{"deny": []any{map[string]any{"spiffeID": map[string]any{"type": "Exact", "value": id}}}}})
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	objects, err := decode.Objects(x.Catalog, ref.Name, text)
	if err == nil && len(objects) != 1 {
		err = fmt.Errorf("%s is no document", ref)
	}
	if err != nil && (api.Refuses(err) || len(objects) != 1) {
		return nil, err
	}
	objects[0].Namespace = ref.Namespace
	return objects[0], nil
}
