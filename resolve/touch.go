package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// touch marks what an object speaks of, as the trees know it at the moment.
func (u *updater) touch(o *api.Object) {
	if o == nil {
		return
	}
	if u.fresh {
		u.touchFresh(o)
		return
	}
	x, ok := u.mesh.objects.Get([]byte(objectKey(o.Ref)))
	if !ok {
		return
	}
	switch x := x.(type) {
	case *policy:
		u.touchPolicy(x)
	case *routeObject:
		u.touchRoute(x)
	case *service:
		u.touchService(x)
	case *dataplane:
		u.touchDataplane(x)
	}
}

// touchFresh is touch where nothing was there before: destinations follow from
// services and tags alone, and everything is resolved.
func (u *updater) touchFresh(o *api.Object) {
	x, ok := u.mesh.objects.Get([]byte(objectKey(o.Ref)))
	if !ok {
		return
	}
	switch x := x.(type) {
	case *routeObject:
		u.touchHosts(x)
	case *service:
		u.services.add(objectKey(o.Ref))
	case *dataplane:
		u.touchPlane(x)
	}
}

func (u *updater) touchPolicy(p *policy) {
	if len(p.inbound) > 0 {
		u.limits = true
		for x := range u.mesh.selecting(p.selector) {
			u.planes.add(objectKey(x.plane.object.Ref))
		}
	}
	for _, it := range p.items {
		if ref := it.routeRef(); ref != nil {
			for r := range selectedRoutes(u.mesh, *ref, p.object.HomeNamespace()) {
				u.touchRoute(r)
			}
			continue
		}
		u.touchDests(it.target, p.object.HomeNamespace())
	}
}

func (u *updater) touchRoute(r *routeObject) {
	u.touchEntries(r)
	for _, by := range u.mesh.readers(r.object.Ref) { // which may include its rules
		u.touchEntries(by)
	}
}

func (u *updater) touchEntries(r *routeObject) {
	u.touchHosts(r)
	for i := range r.opinion.Entries {
		to := r.opinion.Entries[i].To
		if to.Kind != "" {
			u.touchDests(to, r.object.HomeNamespace())
		}
	}
}

func (u *updater) touchDests(ref api.TargetRef, home string) {
	for d := range u.mesh.destsNamed(targetName(ref)) {
		if matcher.Destination(ref, home, &d.facts) {
			u.dests.add(d.ID)
		}
	}
}

// touchService marks a service, and those across zones that gather it.
func (u *updater) touchService(s *service) {
	u.services.add(objectKey(s.object.Ref))
	if _, ok := s.object.Spec.(*api.MeshService); !ok {
		return
	}
	for key := range u.mesh.linked(multiZone, anyTarget) {
		if o, ok := u.mesh.objects.Get([]byte(key)); ok && gathersService(o.(*service).object.Spec.(*api.MeshMultiZoneService), s) {
			u.services.add(key)
		}
	}
}

// touchPlane marks a dataplane and the kuma.io/service names of its inbounds.
func (u *updater) touchPlane(p *dataplane) {
	u.planes.add(objectKey(p.object.Ref))
	if p.facts.Gateway {
		return
	}
	for _, tags := range p.facts.Tags {
		if n := tags[api.TagService]; n != "" {
			u.classics.add(n)
		}
	}
}

func (u *updater) touchDataplane(p *dataplane) {
	u.touchPlane(p)
	for _, l := range carried(p) {
		for key := range u.mesh.linked(gathers, l) {
			if s, ok := u.mesh.objects.Get([]byte(key)); ok {
				u.touchService(s.(*service))
			}
		}
	}
}
