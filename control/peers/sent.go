package peers

import "github.com/weftmesh/weft/api"

// telling is which sidecars a follower was told of, by the name that their agents have for
// them, and the name that they were told by. The two are not the same while it is known what
// dataplane a sidecar is of, and that may change under its streams.
type telling map[api.Ref]api.Ref

// stirred are sidecars that may be others than before, by the names that their agents have for
// them: each once, by the name of a dataplane where one was told.
type changedSidecars map[api.Ref]api.Ref

func (s changedSidecars) add(ref api.Ref) {
	if own := called(ref); s[own].Namespace == "" {
		s[own] = ref
	}
}

// called is the name that an agent has for its dataplane, whether or not there is one.
func called(r api.Ref) api.Ref { return api.Ref{Kind: r.Kind, Mesh: r.Mesh, Name: r.FullName()} }

// next is what a follower has to be told of a sidecar that may be another than before: how it
// is, nil where no stream of it is here, and the names that it has no more. What known says
// of its name counts, but where its stream of ADS was opened by another, and stays.
func (t telling) next(ref api.Ref, known func(api.Ref) api.Ref, here func(api.Ref) *Sidecar) (is *Sidecar, gone []api.Ref) {
	own := called(ref)
	before, was := t[own]
	now := known(own)
	is = here(now)
	for _, other := range []api.Ref{ref, own, before} {
		if is.GetStream() != nil {
			break
		}
		if s := here(other); s.GetStream() != nil {
			is, now = s, other
		}
	}
	if was && (is == nil || now != before) {
		gone = append(gone, before)
		delete(t, own)
	}
	if is != nil {
		t[own] = now
	}
	return is, gone
}
