package lint

import (
	"github.com/weftmesh/weft/api"
)

// ofTenants are codes about whose a namespace, a host or a certificate is (Mesh.tenancy).
var ofTenants = []CodeInfo{
	{"HostsOpen", api.Info, "Hosts have no owner",
		"Several namespaces share the mesh, and a route of any of them takes any host from the dataplanes of all: also that of another namespace, or one of the world.",
		"Write `tenancy: {hosts: {mode: Owned}}` in the Mesh, with a grant for each host that acts beyond its namespace; or `mode: Open`, if it is meant so.", hostsOpen},
	told("CertificateNotShown", "An edge may not use the key of another namespace", "The host is not served there: its certificate belongs to another namespace, and whoever runs the edge would have its key.", "Name the edge's namespace in `tenancy.edges` of the Mesh, if it may have such keys, or run the edge elsewhere."),
	told("HostNotGranted", "A host acts in its own namespace alone", "Dataplanes of other namespaces, edges among them, do not serve it.", "Write a grant in `tenancy.hosts.grants` of the Mesh, if it is to act everywhere."),
	told("IngressClassServed", "A route of an ingress class is served", "The Mesh names no classes, so weft serves all: also what another controller serves.", "Write `tenancy.ingressClasses` in the Mesh."),
	told("NamespaceNotAdmitted", "A namespace is not part of the mesh", "Its objects have no effect in the mesh: dataplanes are not served, services are not called, routes and policies act nowhere.", "Name the namespace in `tenancy.namespaces` of the Mesh, or put it into another mesh."),
	told("NoNamespaces", "No namespace is part of the mesh", "Only system namespaces are.", "Name some in `tenancy.namespaces`, or leave it out."),
	told("OtherIngressClass", "A route is of another ingress class", "Another controller serves it, and weft does not.", "Nothing, unless weft is meant: then name its class, or add this one to `tenancy.ingressClasses` of the Mesh."),
}

// hostsOpen: nobody has decided whose hosts are in a mesh that namespaces share.
func hostsOpen(v *view) (found []*api.Violation) {
	for _, ref := range v.refs() {
		mesh := v.mine[ref]
		if ref.Kind != api.KindMesh {
			continue
		}
		if t := api.TenancyOf(mesh); t != nil && t.Hosts != nil && t.Hosts.Mode != "" {
			continue
		}
		by := v.claimant(ref.Name)
		if by == nil {
			continue
		}
		if f := v.on(ref, "tenancy.hosts.mode", "HostsOpen", "several namespaces share the mesh, and a host of any of them, such as those of %s, moves the calls of all; write tenancy: {hosts: {mode: Owned}} with grants, or mode: Open if that is meant", by); f != nil {
			found = append(found, f)
		}
	}
	return found
}

// claimant is the first route of a tenant that names a host, where there are dataplanes of another
// namespace; nil for none.
func (v *view) claimant(mesh string) *api.Ref {
	homes := map[string]bool{}
	for r := range v.model.Dataplanes(mesh) {
		if home := r.Dataplane.Home(); !home.System {
			homes[home.Namespace] = true
		}
	}
	if len(homes) == 0 {
		return nil
	}
	var found *api.Ref
	for o := range v.model.Snapshot().All() {
		said, ok := v.model.Route(o.Ref)
		home := o.Home()
		if !ok || o.Mesh != mesh || home.System || len(homes) == 1 && homes[home.Namespace] || found != nil && found.Compare(o.Ref) < 0 {
			continue
		}
		for i := range said.Entries {
			if to := said.Entries[i].To; to.Kind == api.KindHost && said.Entries[i].Edges == (api.Edges{}) {
				found = &o.Ref
			}
		}
	}
	return found
}
