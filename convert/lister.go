package convert

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// view is what the objects of one conversion see of each other; those that are assumed
// stand before the others.
type view struct {
	dialect *route.Dialect
	objects []*api.Object
}

func (v view) Zone() api.Zone { return api.Zone{} }

func (v view) Object(r api.Ref) (*api.Object, bool) {
	i := slices.IndexFunc(v.objects, func(o *api.Object) bool { return o.Ref == r })
	if i < 0 {
		return nil, false
	}
	return v.objects[i], true
}

func (v view) Objects(kind string, labels map[string]string) []*api.Object {
	return v.where(func(o *api.Object) bool {
		carried := api.Labels{Written: o.Labels, Display: o.DisplayName(), Namespace: o.HomeNamespace()}
		return o.Kind == kind && carried.Carry(labels)
	})
}

func (v view) Keyed(kind, key string) []*api.Object {
	return v.where(func(o *api.Object) bool { return o.Kind == kind && slices.Contains(v.dialect.Keys(o), key) })
}

// Shares says that all documents are of one hand.
func (v view) Shares(*api.Object, string) bool { return true }

func (v view) where(holds func(*api.Object) bool) []*api.Object {
	var out []*api.Object
	for _, o := range v.objects {
		if holds(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *api.Object) int { return a.Ref.Compare(b.Ref) })
	return out
}

// ports are those of a service as far as the documents say, by number.
func (v view) ports(to api.TargetRef, mesh string) []string {
	var out []string
	for _, o := range v.objects {
		if o.Mesh != mesh || o.DisplayName() != to.Name || o.HomeNamespace() != to.Namespace {
			continue
		}
		switch spec := o.Spec.(type) {
		case *api.Service:
			for i := range spec.Ports {
				out = append(out, fmt.Sprint(spec.Ports[i].Port))
			}
		case *api.MeshService:
			for i := range spec.Ports {
				out = append(out, fmt.Sprint(spec.Ports[i].Port))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
