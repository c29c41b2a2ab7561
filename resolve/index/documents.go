package index

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/route"
)

// ObjectKey names an object inside its mesh.
func ObjectKey(r api.Ref) string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// Labelled is the objects of a kind with a label, which is a LabelKey.
func Labelled(kind, label string) string { return tuple.Append(label, kind) }

// keyed is the route objects of a kind that have a key of their dialect.
func keyed(kind, key string) string { return tuple.Join(kind, key) }

func (c *Stage) addObjects() {
	c.ObjectsByKind = map[*derive.Collection[api.Object]]*derive.Index[api.Object]{}
	add := func(name string) *derive.Collection[api.Object] {
		source := derive.Source(c.Schema, name, derive.Values[api.Object]{})
		c.ObjectsByKind[source] = source.Index(func(_ string, o *api.Object, add func(string)) {
			add(o.Kind)
			if d, _ := KindOf(c.Dialects, o.Kind); d != nil && d.Keys != nil {
				for _, key := range d.Keys(o) {
					add(keyed(o.Kind, key))
				}
			}
			if source != c.ServiceObjects && source != c.OtherObjects {
				return // labels are looked for in what others refer to
			}
			shown := api.LabelsOf(o, c.ZoneLabels)
			if spec, ok := o.Spec.(*api.Service); ok {
				shown.Written = pods.MadeLabels(o, spec) // selectors mean the MeshService of it too
			}
			for k, v := range shown.All() {
				add(Labelled(o.Kind, LabelKey(k, v)))
			}
		})
		return source
	}
	c.MeshObjects, c.PolicyObjects, c.RouteObjects = add("meshes"), add("policies"), add("routes")
	c.ServiceObjects, c.planeObjects, c.OtherObjects = add("services"), add("dataplanes"), add("others")
	c.GeneratorObjects = derive.Source(c.Schema, "hostname generators", derive.Values[api.Object]{})
	c.Insights = derive.Source(c.Schema, "insights", derive.Values[api.DataplaneInsight]{})
}

// Objects yields the documents of a kind that carry all the labels, by ObjectKey.
func (m Mesh) Objects(kind string, labels map[string]string) iter.Seq[*api.Object] {
	source, bucket := m.Written(kind), kind
	if len(labels) > 0 && (source == m.ServiceObjects || source == m.OtherObjects) {
		bucket = Labelled(kind, FirstPair(labels, ""))
	}
	return func(yield func(*api.Object) bool) {
		for o := range m.ObjectsByKind[source].Values(m.At, bucket) {
			if shown := api.LabelsOf(o, m.ZoneLabels); shown.Carry(labels) && !yield(o) {
				return
			}
		}
	}
}

// Read derives what each document means.
func Read[T any](m Mesh, name string, from *derive.Collection[api.Object], f func(o *api.Object) *T) *derive.Collection[T] {
	return derive.Derive(m.Schema, name, from, derive.Values[T]{}, func(r *derive.Reader, key string) *T {
		o, _ := from.Get(r, key)
		if !m.Stage.Mesh(r).admitted(o) {
			return nil // of which there is a note
		}
		return f(o)
	})
}

func (c *Stage) addMeanings() {
	c.modes = derive.Derive(c.Schema, "modes", c.MeshObjects, derive.Values[string]{Equal: func(a, b *string) bool { return *a == *b }},
		func(r *derive.Reader, key string) *string {
			o, _ := c.MeshObjects.Get(r, key)
			mode := modeOf(o)
			return &mode
		})
	c.Policies = derive.Derive(c.Schema, "policies read", c.PolicyObjects, derive.Values[Policy]{}, func(r *derive.Reader, key string) *Policy {
		o, _ := c.PolicyObjects.Get(r, key)
		m := c.Mesh(r)
		if !m.admitted(o) {
			return nil // of which there is a note
		}
		i := slices.IndexFunc(c.Kinds, func(k *policies.Kind) bool { return k.Name == o.Kind })
		spec, ok := o.Spec.(*policies.Spec)
		if i < 0 || !ok || o.Shadow() && c.Kinds[i].Authorizer == nil { // what adds up counts what a shadow would change
			return nil
		}
		return newPolicy(o, spec.WithCollectors(m.reached), i)
	})
	c.Routes = derive.Derive(c.Schema, "routes read", c.RouteObjects, derive.Values[Route]{}, func(r *derive.Reader, key string) *Route {
		o, _ := c.RouteObjects.Get(r, key)
		d, place := KindOf(c.Dialects, o.Kind)
		return newRouteObject(o, place, slices.IndexFunc(c.Dialects, func(x route.Dialect) bool { return x.Name == d.Name }), d, Lister{c.Mesh(r), o})
	})
	c.addServices()
	c.Dataplanes = Read(c.Mesh(nil), "dataplanes read", c.planeObjects, func(o *api.Object) *Dataplane { return NewDataplane(o, c.ZoneLabels) })
}

// Disabled is the mode of a mesh in which names without a port mean
// kuma.io/services; it is also that of a mesh that says nothing.
const Disabled = "Disabled"

// Exclusive is the mode of a mesh whose services are objects alone.
const Exclusive = "Exclusive"

func modeOf(o *api.Object) string {
	if spec, ok := o.Spec.(*api.Mesh); ok && spec.MeshServices != nil && spec.MeshServices.Mode != "" {
		return spec.MeshServices.Mode
	}
	return Disabled
}

// addTelemetry derives what the Mesh says of counting requests.
func (c *Stage) addTelemetry() {
	c.telemetries = derive.Derive(c.Schema, "telemetry", c.MeshObjects, derive.Values[api.Telemetry]{Equal: func(a, b *api.Telemetry) bool { return derive.Same(a, b) }},
		func(r *derive.Reader, key string) *api.Telemetry {
			o, _ := c.MeshObjects.Get(r, key)
			return api.TelemetryOf(o)
		})
}

// Telemetry is what the Mesh says of counting requests; nil where it says nothing.
func (m Mesh) Telemetry() *api.Telemetry {
	for _, t := range m.telemetries.All(m.At) {
		return t
	}
	return nil
}
