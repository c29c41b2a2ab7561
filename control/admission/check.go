package admission

import (
	"maps"
	"reflect"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/syntax"
)

// Check is what keeps documents that are sound by themselves from being stored
// over now: each needs a mesh that exists or comes along, and keeps the origin
// and the zone that it has. Documents that are refused already may be among
// them, so that all that is wrong is said at once.
func Check(c *api.Catalog, now *snapshot.Snapshot, objects []*api.Object) []*api.Violation {
	chain, r := &Chain{catalog: c}, &review{by: People, now: now, refused: objects, wrong: map[int]bool{}}
	chain.beside(r)
	return r.found
}

// mostFound is about how many mistakes are told of documents beside what is stored: to find the place
// of each a text is read again.
const mostFound = 1000

// noMesh is said of a document whose mesh is not there. An API server asks about each document alone, in
// the order of a file, and in a dry run stores none: there it is a warning, and the document takes part when its
// mesh comes.
func noMesh(o *api.Object, by Writer) *api.Violation {
	v := api.Path("mesh").Breaks("there is no mesh %s; create it first, or in the same apply", redact.Clip(o.Mesh))
	if by == APIServer {
		v = api.Path("mesh").Warns("MeshNotFound", "there is no mesh %s yet, so it takes part in nothing until that is created", redact.Clip(o.Mesh))
	}
	v.Object, v.Position = o.Ref, syntax.Locate(o.Source, "mesh")
	return v
}

// immutable are the labels that stay with an object for its life (spec/kuma.md 1.2).
var immutable = []string{api.LabelOrigin, api.LabelZone}

// changed are the immutable labels that after would change. To write down what
// readers are shown anyway changes nothing.
func changed(c *api.Catalog, before, after *api.Object) []*api.Violation {
	was, is := c.ShownLabels(before), c.ShownLabels(after)
	var found []*api.Violation
	for _, key := range immutable {
		if was[key] == is[key] {
			continue
		}
		found = append(found, Fixed(after, key, was[key]))
	}
	return found
}

// Fixed says of a label that stays for the life of an object that o has another one than it
// was before, empty for none.
func Fixed(o *api.Object, label, was string) *api.Violation {
	at := syntax.LabelPath(o.Source, label)
	v := at.Breaks("the label is %q and cannot be changed; write that, or delete the object first", was)
	if was == "" {
		v = at.Breaks("the label cannot be added later; leave it out, or delete the object first")
	}
	v.Object, v.Position = o.Ref, syntax.Locate(o.Source, at)
	return v
}

// stored is what a write of o makes of an object that is before, nil for none.
// A label that comes back as weft shows it, and that nobody wrote before, is not
// stored (spec/kuma.md 1.2), so that who writes back what was read changes
// nothing. The status is weft's: a document may bring one along while there is
// none; another one after that is left out, with a warning.
func stored(c *api.Catalog, before, o *api.Object) (*api.Object, []*api.Violation) {
	with, labels, status := withMaterial(before, o), labelsOf(c, before, o), ofWriters(o.Status)
	adjusted := len(labels) != len(o.Labels) || !reflect.DeepEqual(status, o.Status)
	untold := before == nil || before.Status == nil
	if untold && with == o && !adjusted && !o.Adjusted {
		return o, nil // as most documents: a large batch has no second copy of them
	}
	stored := *with
	stored.Labels, stored.Status, stored.Adjusted = labels, status, adjusted
	if untold || reflect.DeepEqual(before.Status, stored.Status) {
		return &stored, nil
	}
	stored.Status, stored.Adjusted = before.Status, true
	if o.Status == nil {
		return &stored, nil
	}
	v := api.Path("status").Breaks("the status is kept by the control plane, so this one is not stored; leave it out, or delete the object first")
	v.Severity, v.Code, v.Object, v.Position = api.Warning, "NotApplied", o.Ref, syntax.Locate(o.Source, "status")
	return &stored, []*api.Violation{v}
}

// labelsOf are the labels of o but for those that weft computes alike.
func labelsOf(c *api.Catalog, before, o *api.Object) map[string]string {
	if !slices.ContainsFunc(computed, func(key string) bool { return o.Labels[key] != "" }) {
		return o.Labels
	}
	bare := *o
	bare.Labels = maps.Clone(o.Labels)
	for _, key := range computed {
		delete(bare.Labels, key)
	}
	shown := c.ShownLabels(&bare)
	labels := maps.Clone(o.Labels)
	for _, key := range computed {
		had := before != nil && before.Labels[key] != ""
		if value := o.Labels[key]; value != "" && value == shown[key] && !had {
			delete(labels, key)
		}
	}
	return labels
}

// computed are the labels that weft shows where nobody wrote them.
var computed = []string{api.LabelDisplayName, api.LabelOrigin, api.LabelZone, api.LabelEnv, api.LabelMesh, api.LabelNamespace, api.LabelPolicyRole}

// remainingDocument is a document that a mesh has after the writes, but for the mesh.
func (r *review) remainingDocument(mesh string, going map[api.Ref]bool) (api.Ref, bool) {
	for _, w := range r.writes {
		if w.Put != nil && w.Put.Mesh == mesh {
			return w.Put.Ref, true
		}
	}
	for _, o := range r.refused {
		if o.Mesh == mesh {
			return o.Ref, true
		}
	}
	for o := range r.now.All() {
		if o.Mesh == mesh && !going[o.Ref] {
			return o.Ref, true
		}
	}
	return api.Ref{}, false
}

// ofWriters is a status without what readers are told in it: the names of a service that its
// generators make.
func ofWriters(status any) any {
	st, ok := status.(*api.ServiceStatus)
	if !ok || st == nil {
		return status
	}
	out := *st
	out.Addresses = slices.DeleteFunc(slices.Clone(st.Addresses), func(a api.ServiceAddress) bool { return a.HostnameGeneratorRef != nil })
	if len(out.Addresses) == 0 {
		out.Addresses = nil
	}
	if out.Addresses == nil && out.VIPs == nil {
		return nil
	}
	return &out
}
