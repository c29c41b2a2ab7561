package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/route"
)

// objectKey names an object inside its mesh.
func objectKey(r api.Ref) string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// labelled is the objects of a kind with a label.
func labelled(kind, label string) string { return kind + "\x00" + label }

// keyed is the route objects of a kind that have a key of their dialect.
func keyed(kind, key string) string { return kind + "\x04" + key }

func (c *indexStage) addObjects() {
	c.objectsByKind = map[*derive.Collection[api.Object]]*derive.Index[api.Object]{}
	add := func(name string) *derive.Collection[api.Object] {
		source := derive.Source(c.schema, name, derive.Values[api.Object]{})
		c.objectsByKind[source] = source.Index(func(_ string, o *api.Object, add func(string)) {
			add(o.Kind)
			if d, _ := kindOf(c.dialects, o.Kind); d != nil && d.Keys != nil {
				for _, key := range d.Keys(o) {
					add(keyed(o.Kind, key))
				}
			}
			if source != c.serviceObjects && source != c.otherObjects {
				return // labels are looked for in what others refer to
			}
			shown := api.LabelsOf(o, c.zone)
			if spec, ok := o.Spec.(*api.Service); ok {
				shown.Written = pods.MadeLabels(o, spec) // selectors mean the MeshService of it too
			}
			for k, v := range shown.All() {
				add(labelled(o.Kind, pair(k, v)))
			}
		})
		return source
	}
	c.meshObjects, c.policyObjects, c.routeObjects = add("meshes"), add("policies"), add("routes")
	c.serviceObjects, c.planeObjects, c.otherObjects = add("services"), add("dataplanes"), add("others")
}

// objects yields the documents of a kind that carry all the labels, by objectKey.
func (m indexMesh) objects(kind string, labels map[string]string) iter.Seq[*api.Object] {
	source, bucket := m.written(kind), kind
	if len(labels) > 0 && (source == m.serviceObjects || source == m.otherObjects) {
		bucket = labelled(kind, firstPair(labels, ""))
	}
	return func(yield func(*api.Object) bool) {
		for o := range m.objectsByKind[source].Values(m.at, bucket) {
			if shown := api.LabelsOf(o, m.zone); shown.Carry(labels) && !yield(o) {
				return
			}
		}
	}
}

// read derives what each document means.
func read[T any](c *indexStage, name string, from *derive.Collection[api.Object], f func(o *api.Object) *T) *derive.Collection[T] {
	return derive.Derive(c.schema, name, from, derive.Values[T]{}, func(r *derive.Reader, key string) *T {
		o, _ := from.Get(r, key)
		if !c.derived(r).admitted(o) {
			return nil // of which there is a note
		}
		return f(o)
	})
}

func (c *indexStage) addMeanings() {
	c.modes = derive.Derive(c.schema, "modes", c.meshObjects, derive.Values[string]{Equal: func(a, b *string) bool { return *a == *b }},
		func(r *derive.Reader, key string) *string {
			o, _ := c.meshObjects.Get(r, key)
			mode := modeOf(o)
			return &mode
		})
	c.policies = read(c, "policies read", c.policyObjects, func(o *api.Object) *policy {
		i := slices.IndexFunc(c.kinds, func(k *policies.Kind) bool { return k.Name == o.Kind })
		spec, ok := o.Spec.(*policies.Spec)
		if i < 0 || !ok || o.Shadow() && c.kinds[i].Collect == nil { // what adds up counts what a shadow would change
			return nil
		}
		return newPolicy(o, spec, i)
	})
	c.routes = derive.Derive(c.schema, "routes read", c.routeObjects, derive.Values[routeObject]{}, func(r *derive.Reader, key string) *routeObject {
		o, _ := c.routeObjects.Get(r, key)
		d, place := kindOf(c.dialects, o.Kind)
		return newRouteObject(o, place, slices.IndexFunc(c.dialects, func(x route.Dialect) bool { return x.Name == d.Name }), d, seeing{c.derived(r), o})
	})
	c.addServices()
	c.dataplanes = read(c, "dataplanes read", c.planeObjects, func(o *api.Object) *dataplane { return newDataplane(o, c.zone) })
}

// disabled is the mode of a mesh in which names without a port mean
// kuma.io/services; it is also that of a mesh that says nothing.
const disabled = "Disabled"

// exclusive is the mode of a mesh whose services are objects alone.
const exclusive = "Exclusive"

func modeOf(o *api.Object) string {
	if spec, ok := o.Spec.(*api.Mesh); ok && spec.MeshServices != nil && spec.MeshServices.Mode != "" {
		return spec.MeshServices.Mode
	}
	return disabled
}
