package peers

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
)

// TestAFollowerHasEachSidecarOnce is the law of what is told: after each telling the follower
// has the sidecars whose streams are here, each by one name, that of its stream of ADS where it
// has one and else the one by which it is known, whatever became known or unknown under the
// streams in between.
func TestAFollowerHasEachSidecarOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var full []api.Ref // dataplanes
		for i := range 3 {
			full = append(full, api.Ref{Kind: api.KindDataplane, Mesh: "default", Namespace: "shop", Name: fmt.Sprint("web-", i)})
		}
		exists := map[api.Ref]bool{}
		known := func(ref api.Ref) api.Ref { return ref.Resolve(func(r api.Ref) bool { return exists[r] }) }
		ads, agents := map[api.Ref]bool{}, map[api.Ref]bool{} // names of streams: as they were known, and their own
		here := func(ref api.Ref) *Sidecar {
			if !ads[ref] && !agents[called(ref)] {
				return nil
			}
			s := &Sidecar{Dataplane: named(ref), Attached: agents[called(ref)]}
			if ads[ref] {
				s.Stream = &Stream{}
			}
			return s
		}
		dirty, told, l := changedSidecars{}, telling{}, newLedger()
		l.publish(models{}, 1, nil)
		l.begin("b")
		some := func(t *rapid.T) api.Ref { return rapid.SampledFrom(full).Draw(t, "dataplane") }
		tell := func() {
			out := &Told{Whole: true}
			for _, ref := range dirty {
				is, gone := told.next(ref, known, here)
				for _, name := range gone {
					out.Gone = append(out.Gone, named(name))
				}
				if is != nil {
					out.Sidecars = append(out.Sidecars, is)
				}
			}
			dirty = changedSidecars{}
			l.hear("b", out)
		}
		t.Repeat(map[string]func(*rapid.T){
			"a dataplane comes or goes": func(t *rapid.T) {
				ref := some(t)
				exists[ref] = !exists[ref]
				if ads[ref] || agents[called(ref)] { // as Published finds
					dirty.add(ref)
				}
			},
			"a stream of ADS opens": func(t *rapid.T) {
				if ref := some(t); !ads[ref] && !ads[called(ref)] {
					name := known(called(ref))
					ads[name] = true
					dirty.add(name)
				}
			},
			"a stream of ADS ends": func(t *rapid.T) {
				ref := some(t)
				for _, name := range []api.Ref{ref, called(ref)} {
					if ads[name] {
						delete(ads, name)
						dirty.add(name)
					}
				}
			},
			"an agent comes or goes": func(t *rapid.T) {
				own := called(some(t))
				agents[own] = !agents[own]
				dirty.add(own)
			},
			"tell": func(*rapid.T) { tell() },
			"": func(t *rapid.T) {
				if len(dirty) > 0 {
					return // it was not told yet
				}
				want := map[api.Ref]bool{}
				for _, ref := range full {
					switch own := called(ref); {
					case ads[ref]:
						want[ref] = true
					case ads[own]:
						want[own] = true
					case agents[own]:
						want[known(own)] = true
					}
				}
				got := l.peers["b"].sidecars
				for ref := range want {
					if got[ref] == nil || got[ref].told.GetAttached() != agents[called(ref)] || (got[ref].told.GetStream() != nil) != ads[ref] {
						t.Fatalf("of %s is told %v", ref, got[ref])
					}
				}
				if len(got) != len(want) || len(told) != len(want) {
					t.Fatalf("told are %v, here %v", got, want)
				}
			},
		})
	})
}
