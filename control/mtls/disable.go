package mtls

import (
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/resolve"
)

// disabledMesh is what a mesh goes on with whose documents give identities no more.
type disabledMesh struct {
	*api.MeshInsight
	since  time.Time
	agreed *time.Time // see relies
}

// reliance is what dataplanes rely on: by mesh, what documents said of identities last, and what
// they said before where a mesh is leaving that. It belongs to the steps of the loop.
type reliance struct {
	said map[string]*api.MeshInsight // nil before rest
	left map[string]disabledMesh
}

// saidOf is what documents say of identities in a mesh, without what is secret; nil for nothing.
func saidOf(s *snapshot.Snapshot, mesh string) *api.MeshInsight {
	out := &api.MeshInsight{}
	if o, ok := s.Get(api.Ref{Kind: api.KindMesh, Name: mesh}); ok {
		if m, ok := o.Spec.(*api.Mesh); ok && m.MTLS != nil {
			for _, b := range m.MTLS.Backends {
				if b.Name == m.MTLS.EnabledBackend {
					out.MTLS = &api.MeshTLS{EnabledBackend: b.Name, Backends: []api.MeshBackend{{Name: b.Name, Type: api.AuthorityBuiltin, Mode: b.Mode, DPCert: b.DPCert}}}
				}
			}
		}
	}
	for o := range s.Of(api.KindMeshIdentity, mesh) {
		if m, ok := o.Spec.(*api.MeshIdentity); ok {
			out.Identities = append(out.Identities, &api.Object{Ref: o.Ref, Spec: &api.MeshIdentity{Selector: m.Selector, SpiffeID: m.SpiffeID}})
		}
	}
	if out.MTLS == nil && out.Identities == nil {
		return nil
	}
	return out
}

// beginDisable has dataplanes that lose their identity go on with it for a while longer: see states.go.
func (x *Insights) beginDisable(before, next *resolve.Model, changes []snapshot.Change, affected []api.Ref) (out []snapshot.Change) {
	stale := false
	if x.relied.said == nil {
		return nil // it is just beginning: see rest
	}
	for mesh := range meshesThatSay(changes) {
		was, is := x.relied.said[mesh], saidOf(next.Written(), mesh)
		if reflect.DeepEqual(was, is) {
			continue
		}
		stale = true
		if was != nil && x.loses(before, next, mesh, affected) {
			out = append(out, x.goesOn(mesh, was))
		}
		if x.relied.said[mesh] = is; is == nil {
			delete(x.relied.said, mesh)
		}
	}
	if stale {
		x.keepRelied()
		x.Enqueue() // what is kept for the time being is looked at when the step is made
	}
	return out
}

// meshesThatSay are those in which documents about identities have changed.
func meshesThatSay(changes []snapshot.Change) map[string]bool {
	out := map[string]bool{}
	for _, c := range changes {
		switch ref := c.Ref(); ref.Kind {
		case api.KindMesh:
			out[ref.Name] = true
		case api.KindMeshIdentity:
			out[ref.Mesh] = true
		}
	}
	return out
}

// loses reports whether a dataplane with a certificate has no identity any more.
func (x *Insights) loses(before, next *resolve.Model, mesh string, affected []api.Ref) bool {
	return slices.ContainsFunc(affected, func(ref api.Ref) bool {
		if ref.Mesh != mesh {
			return false
		}
		was, _ := before.Identity(ref)
		is, stays := next.Identity(ref)
		return stays && was != nil && is == nil && x.Told(ref).Identity
	})
}

// Told is what the loop was told of a dataplane.
func (x *Insights) Told(ref api.Ref) api.DataplaneInsight {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := x.insight(ref.AsNode()); i != nil {
		return *i.told
	}
	return api.DataplaneInsight{}
}

// goesOn is the change by which a mesh goes on with what it said.
func (x *Insights) goesOn(mesh string, was *api.MeshInsight) snapshot.Change {
	c := snapshot.Change{After: &api.Object{Ref: api.MeshInsightRef(mesh), Spec: was}}
	if old, ok := x.relied.left[mesh]; ok {
		c.Before = &api.Object{Ref: api.MeshInsightRef(mesh), Spec: old.MeshInsight}
	}
	x.relied.left[mesh] = disabledMesh{was, time.Now(), new(time.Time)}
	return c
}

// endDisable are the changes by which meshes go on no more with what they said: nobody calls their
// dataplanes by TLS, and all who are connected know that. That does not take for ever.
func (x *Insights) endDisable(m *resolve.Model, followed func(mesh string) bool) (out []snapshot.Change) {
	for mesh, l := range x.relied.left {
		called := x.isCalled(m, mesh)
		on, gaveUp := relies(l.agreed, called, called || followed(mesh), l.since, time.Now(), x.HoldPlain)
		if on {
			continue
		}
		if gaveUp {
			x.Log.Warn("a mesh gives up mutual TLS, although not all sidecars have acknowledged that", "mesh", mesh, "waited", x.HoldPlain)
		}
		delete(x.relied.left, mesh)
		out = append(out, snapshot.Change{Before: &api.Object{Ref: api.MeshInsightRef(mesh), Spec: l.MeshInsight}})
	}
	if len(out) > 0 {
		x.keepRelied()
	}
	if len(x.relied.left) > 0 { // nothing may happen any more that tells of it
		time.AfterFunc(lookAgain, func() { x.Enqueue() })
	}
	return out
}

// isCalled reports whether a dataplane that leaves its identity is called by TLS.
func (x *Insights) isCalled(m *resolve.Model, mesh string) bool {
	for o := range m.Snapshot().Of(api.KindDataplane, mesh) {
		if id, _ := m.Identity(o.Ref); id != nil && id.Leaves && x.Told(o.Ref).TLS {
			return true
		}
	}
	return false
}

// ReliesOn reports whether dataplanes of a mesh may rely on what documents do not say as of a
// revision: then whom they trust stays.
func (x *Insights) ReliesOn(mesh string, revision uint64) bool {
	if m := x.Loop.Current(); m != nil && m.Snapshot().Revision() >= revision {
		return m.Leaves(mesh)
	}
	time.AfterFunc(lookAgain, func() { x.Enqueue() }) // by which the authorities are looked at again
	return true
}

// reliedFile says on what dataplanes of each mesh rely, for the next control plane of this data
// directory.
const reliedFile = "relied.json"

// keptRelied is that of a mesh.
type keptRelied struct {
	MTLS       *api.MeshTLS   `json:"mtls,omitempty"`
	Identities []keptIdentity `json:"identities,omitempty"`
}

// keptIdentity is a MeshIdentity.
type keptIdentity struct {
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	Spec      *api.MeshIdentity `json:"spec"`
}

// keepRelied writes the file, before a model that rests on it is published.
func (x *Insights) keepRelied() {
	kept := map[string]keptRelied{}
	keep := func(mesh string, is *api.MeshInsight) {
		k := keptRelied{MTLS: is.MTLS}
		for _, o := range is.Identities {
			k.Identities = append(k.Identities, keptIdentity{o.Namespace, o.Name, o.Spec.(*api.MeshIdentity)})
		}
		kept[mesh] = k
	}
	for mesh, is := range x.relied.said {
		keep(mesh, is)
	}
	for mesh, l := range x.relied.left {
		keep(mesh, l.MeshInsight)
	}
	err := files.WriteState(filepath.Join(x.DataDir, reliedFile), kept)
	if err != nil {
		x.Log.Warn("a mesh that gives up mutual TLS while the control plane restarts may lose calls", "error", err)
	}
}

// rest has meshes go on with what they said when the control plane before this one was stopped,
// where their documents say something else now.
func (x *Insights) rest(m *resolve.Model) (out []snapshot.Change) {
	kept := map[string]keptRelied{}
	err := files.ReadState(filepath.Join(x.DataDir, reliedFile), &kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.Log.Warn("which meshes are giving up mutual TLS is not known", "error", err)
	}
	x.relied.said = map[string]*api.MeshInsight{}
	for o := range m.Written().OfKind(api.KindMesh) {
		if is := saidOf(m.Written(), o.Name); is != nil {
			x.relied.said[o.Name] = is
		}
	}
	for mesh, k := range kept {
		was := &api.MeshInsight{MTLS: k.MTLS}
		for _, id := range k.Identities {
			was.Identities = append(was.Identities, &api.Object{Ref: api.Ref{Kind: api.KindMeshIdentity, Mesh: mesh, Namespace: id.Namespace, Name: id.Name}, Spec: id.Spec})
		}
		if !reflect.DeepEqual(was, x.relied.said[mesh]) {
			out = append(out, x.goesOn(mesh, was))
		}
	}
	x.keepRelied()
	return out
}
