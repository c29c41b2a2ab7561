package issuer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/xds/server/authn"
)

// Proven are the names that a dataplane may have, and the document whose authority signs them
// (spec/identity.md 2.5). Of a pod, and of a Dataplane that a user wrote, all that it says is
// proved by who it is; of one that its sidecar brought along only what its token binds: names
// that rest on anything else are refused. Tags that no name of a SPIFFE ID rests on are left
// out of the certificate where the token does not bind them. What is refused is an
// api.IdentityRefusal.
func Proven(m *resolve.Model, zone api.Zone, o *api.Object, who authn.Identity) (names []string, owner api.Ref, err error) {
	id, ok := m.Identity(o.Ref)
	if !ok || id == nil {
		return nil, owner, errNoIdentity
	}
	names, owner = id.Names, id.Origin.Ref
	switch {
	case id.Problem != "":
		return nil, owner, api.IdentityRefusal{Code: api.CodeSpiffeIDInvalid, Message: id.Problem}
	case o.Owner != api.Ephemeral || o.From != nil:
		return names, owner, nil
	}
	bound, by, why := named(m.Snapshot(), zone, who.Proof.Of(o))
	if why != nil || by != owner || !slices.Equal(SpiffeIDs(bound), SpiffeIDs(names)) {
		return nil, owner, api.IdentityRefusal{Code: api.CodeIdentityRefused, Message: fmt.Sprintf("%s says that it is %s, which its token does not prove; issue another by `%s`, or apply the Dataplane",
			o.Ref, strings.Join(SpiffeIDs(names), ", "), auth.TokenCommand(o, slices.Sorted(maps.Keys(o.Labels))))}
	}
	return bound, owner, nil
}

// SpiffeIDs are the names that are SPIFFE IDs.
func SpiffeIDs(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, spiffe.Scheme) })
}

// named are the names that a dataplane outside Kubernetes would have as o says it is; none where
// it has no identity. Why says what it lacks.
func named(s *snapshot.Snapshot, zone api.Zone, o *api.Object) (names []string, owner api.Ref, why error) {
	facts := matcher.DataplaneOf(o, zone.Labels())
	f := identity.Facts{Dataplane: &facts, Mesh: o.Mesh, Zone: zone}
	if by := identity.Select(slices.Collect(s.Of(api.KindMeshIdentity, o.Mesh)), &facts.Labels); by != nil {
		spec, _ := by.Spec.(*api.MeshIdentity)
		id, err := identity.ByTemplate(spec, f)
		if err != nil {
			return nil, by.Ref, err
		}
		return []string{id.String()}, by.Ref, nil
	}
	mesh, ok := s.Get(api.Ref{Kind: api.KindMesh, Name: o.Mesh})
	if !ok {
		return nil, owner, nil
	}
	spec, _ := mesh.Spec.(*api.Mesh)
	if spec == nil || spec.MTLS == nil || spec.MTLS.EnabledBackend == "" {
		return nil, owner, nil
	}
	names, why = identity.ByTags(f)
	return names, mesh.Ref, why
}
