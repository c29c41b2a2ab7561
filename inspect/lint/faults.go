package lint

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/sim/faults"
)

// ofFaults are codes about faults that are injected on purpose.
var ofFaults = []CodeInfo{
	{"FaultForAll", api.Warning, "All requests of the mesh meet a fault",
		"A fault of 100 % stands in an item for the whole mesh, of a policy for the whole mesh: whatever no nearer policy is about fails, waits or is slow, probes and calls of operators among it.",
		"Select fewer dataplanes, name the service that is tried, or lower the percentage.", faultForAll},
	{"FaultForgotten", api.Warning, "Faults are injected for longer than a trial lasts",
		"The policy is more than 30 days old, and still injects faults.",
		"Delete it, or write `http: []`, when the trial is over; write it anew for the next one.", faultForgotten},
}

// longestTrial is from when on faults look forgotten.
const longestTrial = 30 * 24 * time.Hour

// injecting yields what of the documents injects faults: where it is said, and whether that is of the whole mesh and of
// all callers.
func (v *view) injecting(yield func(ref api.Ref, at api.Path, all bool, faults []faults.Fault)) {
	for _, ref := range v.refs() {
		o := v.mine[ref]
		s, ok := o.Spec.(*policies.Spec)
		if !ok || o.Shadow() {
			continue
		}
		top := s.Top()
		everywhere := top.Kind == api.KindMesh && len(top.ProxyTypes) == 0
		item := func(at api.Path, all bool, byDefault, override policies.Conf) {
			for name, c := range map[string]policies.Conf{"default": byDefault, "override": override} {
				if x, ok := c.(faults.Injector); ok && len(x.Faults()) > 0 {
					yield(ref, at.Field(name).Field(x.FaultsField()), everywhere && all, x.Faults())
				}
			}
		}
		for name, list := range map[string][]policies.Item{"to": s.To, "from": s.From} {
			for i := range list {
				item(api.Path("spec").Field(name).Index(i), list[i].TargetRef.Kind == api.KindMesh && len(list[i].TargetRef.Tags) == 0, list[i].Default, list[i].Override)
			}
		}
		for i := range s.Rules {
			item(api.Path("spec.rules").Index(i), len(s.Rules[i].Matches) == 0, s.Rules[i].Default, s.Rules[i].Override)
		}
	}
}

// faultForAll: a fault of all that is called in a mesh.
func faultForAll(v *view) (found []*api.Violation) {
	v.injecting(func(ref api.Ref, at api.Path, all bool, list []faults.Fault) {
		for i := range list {
			if f := &list[i]; all && (f.Aborted == 1 || f.Delayed == 1 || f.Slowed == 1) {
				v.gather(&found, v.on(ref, at.Index(f.Index), "FaultForAll", "every request of the mesh meets it, where no nearer policy is about it; select fewer dataplanes, or lower the percentage"))
			}
		}
	})
	return found
}

// faultForgotten: faults that are injected for long.
func faultForgotten(v *view) (found []*api.Violation) {
	v.injecting(func(ref api.Ref, _ api.Path, _ bool, _ []faults.Fault) {
		o := v.mine[ref]
		since := o.Created
		if o.Modified.After(since) {
			since = o.Modified
		}
		if !since.IsZero() && v.now.Sub(since) > longestTrial {
			v.gather(&found, v.on(ref, "spec", "FaultForgotten", "faults are injected since %s, which is longer than a trial lasts; delete the policy when it is over", since.UTC().Format(time.DateOnly)))
		}
	})
	return found
}
