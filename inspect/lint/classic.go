package lint

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// classicNameTaken: a service has the name <service>.mesh of one that only the tag kuma.io/service
// names, and not its port 80.
func classicNameTaken(v *view) (found []*api.Violation) {
	classic := map[api.Ref]bool{} // names of the tag, by mesh
	for r := range v.model.Dataplanes("") {
		for _, in := range r.Inbounds {
			if name := in.Tags[api.TagService]; name != "" {
				classic[api.Ref{Mesh: r.Ref.Mesh, Name: strings.ToLower(name) + ".mesh"}] = true
			}
		}
	}
	hosts, ports := map[api.Ref][]string{}, map[api.Ref][]uint32{} // of services, as those call them whose traffic is redirected
	for r := range v.model.Dataplanes("") {
		if n := r.Dataplane.Spec.(*api.Dataplane).Networking; n == nil || n.TransparentProxying == nil || v.servicesAlone(r.Ref.Mesh) {
			continue
		}
		for _, o := range r.Outbounds {
			d := o.Destination
			if v.mine[d.Ref] == nil || v.mine[d.Ref].HomeNamespace() != "" || slices.Contains(ports[d.Ref], d.Port) {
				continue
			}
			ports[d.Ref] = append(ports[d.Ref], d.Port)
			hosts[d.Ref] = d.Hostnames
		}
	}
	for _, ref := range v.refs() {
		if slices.Contains(ports[ref], 80) {
			continue
		}
		for _, host := range hosts[ref] {
			if classic[api.Ref{Mesh: ref.Mesh, Name: host}] {
				v.gather(&found, v.on(ref, "spec.ports", "ClassicNameTaken", "%s was the name of the service of the tag %s, which is called at port 80, and leads to this one now, which has no port 80: such calls fail; add a port 80, or call another port",
					host, api.TagService))
			}
		}
	}
	return found
}

// servicesAlone reports whether in a mesh only objects are services.
func (v *view) servicesAlone(mesh string) bool {
	o, ok := v.model.Snapshot().Get(api.Ref{Kind: api.KindMesh, Name: mesh})
	if !ok {
		return false
	}
	spec, ok := o.Spec.(*api.Mesh)
	return ok && spec.MeshServices != nil && spec.MeshServices.Mode == "Exclusive"
}
