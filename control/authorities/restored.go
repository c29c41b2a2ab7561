package authorities

import (
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// published is what the MeshTrust of an authority says of its past.
type published struct {
	generation uint64   // 0 where there is none
	roots      []string // fingerprints
}

func (k *CAController) published(now *snapshot.Snapshot, a *authority) (out published) {
	o, trust := k.made(now, a)
	if o == nil {
		return out
	}
	out.generation, _ = strconv.ParseUint(o.Labels[api.LabelTrust], 10, 64)
	for _, c := range trust.Roots() {
		out.roots = append(out.roots, workload.Fingerprint(c))
	}
	return out
}

// made is the MeshTrust that weft made of an authority; nil where there is none.
func (k *CAController) made(now *snapshot.Snapshot, a *authority) (*api.Object, *api.MeshTrust) {
	o, ok := now.Get(api.Ref{Kind: api.KindMeshTrust, Mesh: a.mesh, Namespace: k.cfg.Namespace, Name: a.trust})
	if !ok || !api.MadeByWeft(o) {
		return nil, nil
	}
	trust, ok := o.Spec.(*api.MeshTrust)
	if !ok {
		return nil, nil
	}
	return o, trust
}

// start is the first state of an authority, or another one where that is gone or of the past:
// somebody has deleted the Secret with it, or restored an old one. Then nobody knows whose leaves
// there are, so that every root that was trusted is trusted on until all its leaves have ended,
// as after a rotation, and nothing that sidecars have acknowledged before counts.
func (k *CAController) start(a *authority, wanted string, was published) rotation.State {
	at := k.cfg.Now()
	s := rotation.Start(wanted, at)
	if len(was.roots) == 0 {
		return s
	}
	k.cfg.Log.Warn("where an authority stood is not known any more; all that it may have signed stays trusted", "of", a.owner.String())
	s = reserve(s, at, a.longestLife())
	other := ""
	for i := range a.roots {
		r := &a.roots[i]
		if print := r.print(); print != wanted && slices.Contains(was.roots, print) && (other == "" || r.name == a.enabled) {
			other = print
		}
	}
	if other != "" {
		s = s.Over(other, slices.Contains(was.roots, wanted))
	}
	return s.After(was.generation + 1)
}
