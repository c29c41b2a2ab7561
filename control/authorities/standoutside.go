package authorities

import (
	"cmp"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// byWorkloadAPI is who says that a root is to be believed of which nobody has written a MeshTrust.
const byWorkloadAPI = "the Workload API of the control plane"

// standOutside are the authorities outside as a snapshot has them: each root with the documents by
// which it is believed.
func (k *Keeper) standOutside(s *snapshot.Snapshot) (out []Standing) {
	for _, x := range k.outsiders(s) {
		st := Standing{Owner: x.owner, Domain: x.domain, Outside: true, Fault: x.fault}
		for o, t := range trustsOf(s, x.owner.Mesh, x.domain) {
			said := o.Ref.String()
			if api.MadeByWeft(o) {
				said = byWorkloadAPI
			}
			for _, c := range t.Roots() {
				st.believe(StandingRoot{Fingerprint: workload.Fingerprint(c), Ends: c.NotAfter, Said: []string{said}})
			}
		}
		slices.SortFunc(st.Roots, func(a, b StandingRoot) int {
			return cmp.Or(a.Ends.Compare(b.Ends), cmp.Compare(a.Fingerprint, b.Fingerprint))
		})
		out = append(out, st)
	}
	return out
}

// believe adds a root, or who else says that it is to be believed.
func (s *Standing) believe(r StandingRoot) {
	at := slices.IndexFunc(s.Roots, func(have StandingRoot) bool { return have.Fingerprint == r.Fingerprint })
	if at < 0 {
		s.Roots = append(s.Roots, r)
		return
	}
	if have := &s.Roots[at]; !slices.Contains(have.Said, r.Said[0]) {
		have.Said = append(have.Said, r.Said[0])
		slices.Sort(have.Said)
	}
}

// judge says what is wrong with whom others believe.
func (s *Standing) judge(silent string, now time.Time) {
	s.Roots = slices.Clone(s.Roots)
	ended := 0
	for i := range s.Roots {
		if r := &s.Roots[i]; !now.Before(r.Ends) {
			ended++
			r.Fault = "it has ended, so that nobody is believed by it"
		}
	}
	switch {
	case s.Fault != "":
	case ended == len(s.Roots):
		s.Fault = "nobody is told to believe " + s.Domain + "; apply a MeshTrust of that trust domain with the bundle of its SPIRE, or give the control plane a Workload API by SPIFFE_ENDPOINT_SOCKET"
	case silent != "":
		s.Fault = "its roots are those of before, for nothing newer is known: " + silent
	}
}
