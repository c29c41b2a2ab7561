package pods

import (
	"hash"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// addPlanes derives the Dataplanes of pods. What many of them have in common is one value.
func (s *Stage) addPlanes() {
	s.forms = derive.Derive(s.schema, "forms of pods", s.podsByName, derive.Values[form]{Equal: equal[form], Hash: (*form).hash}, func(r *derive.Reader, name string) *form {
		pod := one(r, s.podsByName, name)
		f, notes := formOf(pod, s.around(r, pod))
		if f != nil {
			f.notes = notes
		}
		return f
	})
	s.formsByNoted = s.forms.Index(func(_ string, f *form, add func(string)) {
		for i := range f.notes {
			add(f.notes[i].Origin.Ref.String())
		}
	})
	s.planes = derive.Derive(s.schema, "dataplanes of pods", s.forms, derive.Values[api.Object]{Equal: alike}, func(r *derive.Reader, name string) *api.Object {
		f, _ := s.forms.Get(r, name)
		return f.of(one(r, s.podsByName, name))
	})
}

// around is what of the cluster the Dataplane of a pod follows from.
func (s *Stage) around(r *derive.Reader, pod *api.Object) Around {
	a := Around{Zone: s.zone, Unselecting: s.unselecting, Owner: func(kind, name string) *api.Object {
		o, _ := s.above.Get(r, inSpace(pod.Namespace, kind+"/"+name))
		return o
	}}
	spec := podSpec(pod)
	a.Namespace, _ = s.spaces.Get(r, inSpace("", pod.Namespace))
	if !has(pod, spec, a.Namespace) {
		return a
	}
	if n := spec.Spec.NodeName; n != "" {
		a.Node, _ = s.hosts.Get(r, api.Ref{Kind: api.KindNode, Name: n}.String())
	}
	for _, k := range slices.Sorted(maps.Keys(pod.Labels)) {
		a.Services = slices.AppendSeq(a.Services, s.servicesBySelector.Values(r, inSpace(pod.Namespace, pair(k, pod.Labels[k]))))
	}
	if uid := pod.UID(); uid != "" {
		a.Slices = slices.Collect(s.namedBy.Values(r, inSpace(pod.Namespace, uid)))
		for _, slice := range a.Slices {
			for o := range s.servicesBySelector.Values(r, inSpace(pod.Namespace, slice.Labels[api.LabelServiceName])) {
				if !slices.Contains(a.Services, o) {
					a.Services = append(a.Services, o)
				}
			}
		}
	}
	return a
}

// alike reports whether two Dataplanes of a pod say the same at the same place.
func alike(a, b *api.Object) bool {
	return a.Ref == b.Ref && *a.From == *b.From && a.Created.Equal(b.Created) && a.Source.File == b.Source.File && a.Source.Line == b.Source.Line &&
		maps.Equal(a.Labels, b.Labels) && equal(a.Spec.(*api.Dataplane), b.Spec.(*api.Dataplane))
}

// hash is one of the content: of equal forms it is equal.
func (f *form) hash() uint64 {
	h := fnv.New64a()
	write(h, f.mesh)
	writeMap(h, f.labels)
	for i := range f.inbounds {
		write(h, strconv.FormatUint(uint64(f.inbounds[i].port), 10), f.inbounds[i].name)
		writeMap(h, f.inbounds[i].tags)
	}
	return h.Sum64()
}

func write(h hash.Hash64, texts ...string) {
	for _, t := range texts {
		io.WriteString(h, t)
		h.Write([]byte{0})
	}
}

func writeMap(h hash.Hash64, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		write(h, k, m[k])
	}
}

// NotesOn are the notes on a document of the cluster that come of pods.
func (s *Stage) NotesOn(g *derive.Graph, ref api.Ref) []api.Note {
	var out []api.Note
	for f := range s.formsByNoted.Values(g, ref.String()) {
		for _, n := range f.notes {
			if n.Origin.Ref == ref && !slices.ContainsFunc(out, func(o api.Note) bool { return o.Code == n.Code && o.Field == n.Field && o.Message == n.Message }) {
				out = append(out, n)
			}
		}
	}
	if ref.Kind == api.KindService {
		out = append(out, s.headlessNote(g, ref)...)
	}
	if ref.Kind == api.KindPod {
		out = append(append(out, s.twinNote(g, ref)...), s.uninjectedNote(g, ref)...)
	}
	return out
}

// NotesOf are the notes that the Dataplane of a pod came with, on whatever they are.
func (s *Stage) NotesOf(g *derive.Graph, plane api.Ref) []api.Note {
	if f, _ := s.forms.Get(g, inSpace(plane.Namespace, plane.Name)); f != nil && s.Made(g, plane) != nil {
		return f.notes
	}
	return nil
}

// uninjectedNote says of the document of a Pod without a sidecar that it is no part of the mesh.
// Of a pod that a cluster runs its webhook has said so.
func (s *Stage) uninjectedNote(g *derive.Graph, ref api.Ref) []api.Note {
	o, _ := s.pods.Get(g, ref.String())
	if o == nil || !isDocument(o) || podSpec(o).Container(api.SidecarContainer) != nil {
		return nil
	}
	return []api.Note{onPod(o, api.Info, "NotInjected", "spec", "the pod has no sidecar, so it has no Dataplane; `weft inject explain -f FILE` says why it gets none")}
}

// twinNote says of a Pod that another document of its name holds.
func (s *Stage) twinNote(g *derive.Graph, ref api.Ref) []api.Note {
	for o := range s.podsByName.Values(g, inSpace(ref.Namespace, ref.Name)) {
		if o.Ref == ref {
			return nil
		}
		return []api.Note{{Origin: &api.Origin{Ref: ref}, Severity: api.Error, Code: api.CodeConflicted, Field: "metadata.name",
			Message: "there is " + o.Ref.String() + " by the same name in the same namespace, which holds; keep one of them"}}
	}
	return nil
}
