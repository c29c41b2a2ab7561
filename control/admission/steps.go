package admission

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// firstMesh puts a mesh before the writes where there is no mesh at all.
func (c *Chain) firstMesh(r *review) {
	some := r.now.CountOfKind(api.KindMesh) > 0 || slices.ContainsFunc(r.writes, func(w store.Write) bool { return w.Put != nil && w.Put.Kind == api.KindMesh })
	if !some {
		r.writes = append([]store.Write{{Put: c.FirstMesh}}, r.writes...)
	}
}

// beside is what keeps documents from being stored beside what is there: each needs a mesh that
// exists or comes along, and keeps the origin and the zone that it has; a mesh does not go from
// under documents that stay.
func (c *Chain) beside(r *review) {
	coming, going := map[api.Ref]bool{}, map[api.Ref]bool{} // meshes that come, and all that goes
	for _, w := range r.writes {
		switch {
		case w.Put == nil:
			going[w.Ref()] = true
		case w.Put.Kind == api.KindMesh:
			coming[w.Ref()] = true
		}
	}
	for _, o := range r.refused {
		if o.Kind == api.KindMesh {
			coming[o.Ref] = true
		}
	}
	meshed := func(o *api.Object) bool {
		mesh := api.Ref{Kind: api.KindMesh, Name: o.Mesh}
		return o.Mesh == "" || coming[mesh] || r.now.Has(mesh)
	}
	for i, w := range r.writes {
		switch {
		case w.Put != nil && r.cut(len(r.writes)-i):
			return
		case w.Put != nil:
			r.refuse(i, c.keptOut(r, w.Put, meshed(w.Put))...)
		case w.Delete.Kind == api.KindMesh && r.now.Has(*w.Delete):
			if left, ok := r.remainingDocument(w.Delete.Name, going); ok {
				r.refuse(i, objectBreaks(nil, *w.Delete, "mesh %s is to go and still has documents, such as %s; delete them first, or the mesh with all that is in it", w.Delete.Name, left))
			}
		}
	}
	for i, o := range r.refused {
		if r.cut(len(r.refused) - i) {
			return
		}
		r.refuse(-1, c.keptOut(r, o, meshed(o))...)
	}
}

// cut reports whether people are told enough already, and says how many documents are not looked at.
func (r *review) cut(left int) bool {
	if r.by != People || len(r.found) < mostFound+r.brought {
		return false
	}
	v := api.Path("").Breaks("there are more than %d mistakes, and the last %d documents were not looked at beside what is stored; correct these first", mostFound, left)
	v.Code = "Cut"
	r.refuse(-1, v)
	return true
}

// keptOut is what keeps one document from being stored.
func (c *Chain) keptOut(r *review, o *api.Object, meshed bool) []*api.Violation {
	var found []*api.Violation
	if !meshed {
		found = append(found, noMesh(o, r.by))
	}
	before, ok := r.now.Get(o.Ref)
	if ok && o.Spec != nil {
		found = append(found, changed(c.catalog, before, o)...)
	}
	if r.by == Directory { // the directory is the only place where material of its documents could be
		before = nil
	}
	return append(found, unknownMaterial(before, o)...)
}

// form is what is stored of documents.
func (c *Chain) form(r *review) {
	out := slices.Clone(r.writes)
	for i, w := range out {
		if w.Put == nil || r.wrong[i] {
			continue
		}
		before, _ := r.now.Get(w.Ref())
		put, said := stored(c.catalog, before, w.Put)
		out[i].Put = put
		r.refuse(i, said...)
	}
	r.writes = out
}

// Form is what is stored of a document where before is, nil for nothing.
func (c *Chain) Form(before, o *api.Object) *api.Object {
	out, _ := stored(c.catalog, before, o)
	return out
}

// unworkable refuses authorities that cannot sign, and permissions that nothing can carry out. Where a
// directory says them of which nothing is there yet they are stored, with a warning: there is no last
// good version to go by, and without its authority or its permission a mesh would let more in, and
// without itself serve nobody.
func (c *Chain) unworkable(r *review) {
	from := Sources{System: c.System, Now: c.Now(), File: c.File}
	m := c.Model
	if m == nil {
		m = noModel
	}
	found := refusals(r.now, m(), c.Compile, r.sound(), from)
	if len(found) == 0 {
		return
	}
	at := map[api.Ref]int{}
	for i, w := range r.writes {
		if !r.wrong[i] {
			at[w.Ref()] = i
		}
	}
	for _, v := range found {
		i, known := at[v.Object]
		if !known {
			i = -1
		}
		if r.by == Directory && !r.now.Has(v.Object) {
			v.Severity = api.Warning
		}
		r.refuse(i, v)
	}
}

// sound are the writes with which nothing is wrong so far.
func (r *review) sound() []store.Write {
	if len(r.wrong) == 0 { // as of most batches, of which the largest are not copied
		return r.writes
	}
	var sound []store.Write
	for i, w := range r.writes {
		if !r.wrong[i] {
			sound = append(sound, w)
		}
	}
	return sound
}

// unopened warns of what a mesh gets that begins to prove who calls. Nothing comes along in a
// cluster by what is written together, so that nothing of it is known there.
func (c *Chain) unopened(r *review) {
	if !r.failed {
		r.found = append(r.found, Unopened(r.now, r.writes)...)
	}
}

// inject puts sidecars into Pods: no webhook stands before a store without a cluster.
func (c *Chain) inject(r *review) {
	if !slices.ContainsFunc(r.writes, func(w store.Write) bool { return w.Put != nil && w.Put.Kind == api.KindPod }) {
		return
	}
	spaces := spacesOf(r.now)
	for _, w := range r.writes {
		switch {
		case w.Ref().Kind != api.KindNamespace:
		case w.Put == nil:
			delete(spaces, w.Ref().Name)
		default:
			spaces[w.Ref().Name] = w.Put
		}
	}
	out := slices.Clone(r.writes)
	for i, w := range out {
		if w.Put != nil && w.Put.Kind == api.KindPod && !r.wrong[i] {
			made, found := spaces.sidecar(w.Put)
			out[i].Put = made
			r.refuse(i, found...)
		}
	}
	r.writes = out
}

// reserved refuses what changes what weft makes of an authority, and the end of a Secret that one
// needs. What goes with its mesh goes.
func (c *Chain) reserved(r *review) {
	sound, going := !r.failed, map[api.Ref]bool{}
	for _, w := range r.writes {
		going[w.Ref()] = w.Delete != nil
	}
	for i, w := range r.writes {
		before, ok := r.now.Get(w.Ref())
		if !ok || w.Own || going[api.Ref{Kind: api.KindMesh, Name: w.Ref().Mesh}] {
			continue
		}
		if why := c.stands(r.now, before, w, going); why != "" {
			r.refuse(i, objectBreaks(w.Put, w.Ref(), "%s %s", w.Ref(), why))
		}
	}
	r.conflict = sound && r.failed
}

// stands says why what is there does not give way to a write; empty where it does.
func (c *Chain) stands(now *snapshot.Snapshot, before *api.Object, w store.Write, going map[api.Ref]bool) string {
	switch {
	case before.Kind == api.KindMeshTrust && api.MadeByWeft(before) && (w.Put == nil || !store.Same(before, w.Put)):
		return "is made by weft of an authority of its mesh; add a MeshTrust of your own beside it"
	case before.Kind == api.KindSecret && w.Delete != nil && c.Uses != nil:
		if owner, used := c.Uses(now, before.Ref); used && !going[owner] {
			return "is used by " + owner.String() + "; take it out there first"
		}
	}
	return ""
}

// Removal is the end of an object as a whole: of a mesh with all that is in it, unless it still has
// dataplanes. The error is a *Refusal.
func Removal(now *snapshot.Snapshot, ref api.Ref) (WriteRequest, error) {
	asked := WriteRequest{Writes: []store.Write{{Delete: &ref}}}
	if ref.Kind != api.KindMesh {
		return asked, nil
	}
	for o := range now.All() {
		switch {
		case o.Mesh != ref.Name:
		case o.Kind == api.KindDataplane:
			return WriteRequest{}, &Refusal{[]*api.Violation{objectBreaks(nil, ref, "%s", HasDataplanes(o))}, true}
		default:
			asked.Writes = append(asked.Writes, store.Write{Delete: &o.Ref})
		}
	}
	return asked, nil
}

// HasDataplanes says why the mesh of a dataplane stays.
func HasDataplanes(o *api.Object) string {
	return "mesh " + o.Mesh + " still has dataplanes, such as " + o.FullName() + "; delete them first"
}
