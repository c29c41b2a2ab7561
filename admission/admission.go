// Package admission decides what may be stored beside what is there: documents
// need their mesh, and some labels stay as they are for the life of an object.
// It decides too what is stored of a document: neither what weft only shows in
// it, nor a status in place of the one that weft keeps.
//
// It promises one answer for one question, whoever asks: the HTTP API, the
// directory of --dir, and the checks without a server. What a document says by
// itself is decided where it is decoded.
package admission

import (
	"maps"
	"reflect"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/store"
)

// Check is what keeps documents that are sound by themselves from being stored
// over now: each needs a mesh that exists or comes along, and keeps the origin
// and the zone that it has. Documents that are refused already may be among
// them, so that all that is wrong is said at once.
func Check(c *api.Catalog, now *api.Snapshot, objects []*api.Object) []*api.Violation {
	meshes := map[string]bool{"": true}
	for _, o := range objects {
		if o.Kind == api.KindMesh {
			meshes[o.Name] = true
		}
	}
	var found []*api.Violation
	for i, o := range objects {
		if len(found) >= mostFound {
			v := api.Path("").Breaks("there are more than %d mistakes, and the last %d documents were not looked at beside what is stored; correct these first", mostFound, len(objects)-i)
			v.Code = "Cut"
			return append(found, v)
		}
		if !meshes[o.Mesh] && !now.Has(api.Ref{Kind: api.KindMesh, Name: o.Mesh}) {
			found = append(found, noMesh(o))
		}
		before, ok := now.Get(o.Ref)
		if ok && o.Spec != nil {
			found = append(found, changed(c, before, o)...)
		}
		found = append(found, unknownMaterial(before, o)...)
	}
	return found
}

// mostFound is about how many mistakes Check tells of: to find the place of each a text is read
// again.
const mostFound = 1000

func noMesh(o *api.Object) *api.Violation {
	v := api.Path("mesh").Breaks("there is no mesh %s; create it first, or in the same apply", api.Clip(o.Mesh))
	v.Object, v.Position = o.Ref, decode.Locate(o.Source, "mesh")
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
	at := decode.LabelPath(o.Source, label)
	v := at.Breaks("the label is %q and cannot be changed; write that, or delete the object first", was)
	if was == "" {
		v = at.Breaks("the label cannot be added later; leave it out, or delete the object first")
	}
	v.Object, v.Position = o.Ref, decode.Locate(o.Source, at)
	return v
}

// Stored is what a write of o makes of an object that is before, nil for none.
// A label that comes back as weft shows it, and that nobody wrote before, is not
// stored (spec/kuma.md 1.2), so that who writes back what was read changes
// nothing. The status is weft's: a document may bring one along while there is
// none; another one after that is left out, with a warning.
func Stored(c *api.Catalog, before, o *api.Object) (*api.Object, []*api.Violation) {
	stored := *withMaterial(before, o)
	stored.Labels = written(c, before, o)
	stored.Adjusted = len(stored.Labels) != len(o.Labels)
	if stored.Status = ofWriters(o.Status); !reflect.DeepEqual(stored.Status, o.Status) {
		stored.Adjusted = true
	}
	if before == nil || before.Status == nil || reflect.DeepEqual(before.Status, stored.Status) {
		return &stored, nil
	}
	stored.Status, stored.Adjusted = before.Status, true
	if o.Status == nil {
		return &stored, nil
	}
	v := api.Path("status").Breaks("the status is kept by the control plane, so this one is not stored; leave it out, or delete the object first")
	v.Severity, v.Code, v.Object, v.Position = api.Warning, "NotApplied", o.Ref, decode.Locate(o.Source, "status")
	return &stored, []*api.Violation{v}
}

// written are the labels of o but for those that weft computes alike.
func written(c *api.Catalog, before, o *api.Object) map[string]string {
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

// Admit leaves out of writes what would leave a document without its mesh:
// documents of a mesh that is not there, and the end of a mesh in which others
// still have documents.
func Admit(now *api.Snapshot, writes []store.Write) (admitted []store.Write, wrong []*api.Violation) {
	coming, going := map[api.Ref]bool{}, map[api.Ref]bool{}
	for _, w := range writes {
		if w.Put != nil {
			coming[w.Ref()] = true
		} else {
			going[w.Ref()] = true
		}
	}
	for _, w := range writes {
		mesh := api.Ref{Kind: api.KindMesh, Name: w.Ref().Mesh}
		switch {
		case w.Put != nil && mesh.Name != "" && !coming[mesh] && !now.Has(mesh):
			wrong = append(wrong, noMesh(w.Put))
			continue
		case w.Put != nil && !hasMaterial(w.Put): // the directory is the only place where it could be
			wrong = append(wrong, unknownMaterial(nil, w.Put)...)
			continue
		case w.Delete != nil && w.Delete.Kind == api.KindMesh && now.Has(*w.Delete):
			if r, ok := remainingDocument(now, w.Delete.Name, coming, going); ok {
				v := api.Path("").Breaks("mesh %s is to go and still has documents, such as %s; delete them first, or the mesh with all that is in it", w.Delete.Name, r)
				v.Object = *w.Delete
				wrong = append(wrong, v)
				continue
			}
		}
		admitted = append(admitted, w)
	}
	return admitted, wrong
}

// remainingDocument is a document that a mesh has after the writes, but for the mesh.
func remainingDocument(now *api.Snapshot, mesh string, coming, going map[api.Ref]bool) (api.Ref, bool) {
	for r := range coming {
		if r.Mesh == mesh {
			return r, true
		}
	}
	for o := range now.All() {
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
