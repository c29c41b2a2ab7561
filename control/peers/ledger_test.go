package peers

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/store"
)

// models are those of a replica by their revisions: one pointer for each configuration of a
// sidecar.
type models map[api.Ref]*effective.Resolved

func (m models) Dataplane(ref api.Ref) (*effective.Resolved, bool) {
	r, ok := m[ref]
	return r, ok
}

// change is one of a document: its resource, its version, and the sidecar whose configuration
// it is about, if any.
type change struct {
	resource string
	version  uint64
	about    api.Ref
}

// reader is a replica that follows two resources, each at its own pace.
type reader struct {
	seen     map[string]int // changes of each resource that it has read
	heard    store.Position
	revision uint64
}

// read takes up to n changes of each resource, and names the sidecars that they are about.
func (r *reader) read(log map[string][]change, n map[string]int) (store.Step, []api.Ref) {
	step, about := store.Step{Heard: store.Position{}, Changed: store.Position{}}, map[api.Ref]bool{}
	for name, more := range n {
		for ; more > 0 && r.seen[name] < len(log[name]); more-- {
			c := log[name][r.seen[name]]
			r.seen[name]++
			step.Heard[name], step.Changed[name] = c.version, c.version
			about[c.about] = true
		}
	}
	raise(r.heard, step.Heard)
	r.revision++
	step.Revision = r.revision
	var out []api.Ref
	for ref := range about {
		if ref.Name != "" {
			out = append(out, ref)
		}
	}
	return step, out
}

// TestASidecarFollowsOnlyWithAllThatConcernsIt is the law of the ledger: of a sidecar that
// follows, the peer knows every change of its configuration that this replica knows, and the
// sidecar has confirmed it; whatever else changes, in whatever order either reads; and once all
// is read, confirmed and told, every sidecar follows.
func TestASidecarFollowsOnlyWithAllThatConcernsIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var refs []api.Ref
		for i := range 3 {
			refs = append(refs, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: fmt.Sprint("web-", i)})
		}
		log, version := map[string][]change{}, uint64(0)
		here, there := &reader{seen: map[string]int{}, heard: store.Position{}}, &reader{seen: map[string]int{}, heard: store.Position{}}
		l, model := newLedger(), models{}
		confirmed := map[api.Ref]map[string]int{} // changes that a sidecar has confirmed
		concerns := func(ref api.Ref, seen map[string]int) (out map[string]int) {
			out = map[string]int{}
			for name, n := range seen {
				for i, c := range log[name][:n] {
					if c.about == ref {
						out[name] = i + 1
					}
				}
			}
			return out
		}
		has := func(ref api.Ref, want map[string]int) bool {
			for name, n := range want {
				if confirmed[ref][name] < n {
					return false
				}
			}
			return true
		}
		publish := func(n map[string]int) {
			step, affected := here.read(log, n)
			next := models{}
			for _, ref := range refs {
				next[ref] = model[ref]
			}
			for _, ref := range affected {
				next[ref] = &effective.Resolved{}
			}
			l.move(step)
			l.publish(next, step.Revision, affected)
			model = next
		}
		told := store.Position{}
		tell := func() {
			out := &Told{Heard: map[string]uint64{}, Whole: true}
			for _, ref := range refs {
				out.Sidecars = append(out.Sidecars, &Sidecar{Dataplane: named(ref), Stream: &Stream{}, Synced: has(ref, concerns(ref, there.seen))})
			}
			raise(out.Heard, there.heard)
			raise(told, there.heard)
			l.hear("b", out)
		}
		publish(nil)
		l.begin("b")
		pace := func(t *rapid.T) map[string]int {
			return map[string]int{"pods": rapid.IntRange(0, 3).Draw(t, "pods"), "routes": rapid.IntRange(0, 3).Draw(t, "routes")}
		}
		all := map[string]int{"pods": 1 << 20, "routes": 1 << 20}
		confirm := func(ref api.Ref) {
			confirmed[ref] = concerns(ref, there.seen)
		}
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				version++
				name := rapid.SampledFrom([]string{"pods", "routes"}).Draw(t, "resource")
				about := rapid.SampledFrom(append([]api.Ref{{}}, refs...)).Draw(t, "about")
				log[name] = append(log[name], change{name, version, about})
			},
			"this replica reads": func(t *rapid.T) { publish(pace(t)) },
			"the peer reads": func(t *rapid.T) {
				there.read(log, pace(t))
				tell() // at least those whose configuration has changed, with how far it is
			},
			"a sidecar confirms": func(t *rapid.T) {
				confirm(rapid.SampledFrom(refs).Draw(t, "sidecar"))
				tell()
			},
			"the peer starts anew": func(*rapid.T) { l.end("b"); l.begin("b"); tell() },
			"the peer tells anew":  func(*rapid.T) { l.begin("b") },
			"the peer tells a part": func(t *rapid.T) {
				ref := rapid.SampledFrom(refs).Draw(t, "sidecar")
				l.hear("b", &Told{Sidecars: []*Sidecar{{Dataplane: named(ref), Stream: &Stream{}, Synced: has(ref, concerns(ref, there.seen))}}})
			},
			"": func(t *rapid.T) {
				for _, ref := range refs {
					e := l.peers["b"].sidecars[ref]
					if e != nil && l.inSync(l.peers["b"], e) && !has(ref, concerns(ref, here.seen)) {
						t.Fatalf("%s follows without %v: it has %v", ref, concerns(ref, here.seen), confirmed[ref])
					}
				}
			},
		})
		publish(all)
		there.read(log, all)
		for _, ref := range refs {
			confirm(ref)
		}
		tell()
		for _, ref := range refs {
			s, _ := l.state("b", l.peers["b"], ref, l.peers["b"].sidecars[ref])
			if !s.InSync || s.Acked != l.revision || s.Confirmed != nil {
				t.Fatalf("%s has all and does not follow: %+v", ref, s)
			}
		}
		if n := len(l.peers["b"].behind) + len(l.peers["b"].needs) + len(l.next); n > 0 {
			t.Fatalf("%d things are kept for nobody", n)
		}
	})
}

// TestWhatASidecarHadIsKnownWhileItIsBehind: an edit that does not touch what an object says
// to a sidecar leaves that confirmed, as on streams of one's own.
func TestWhatASidecarHadIsKnownWhileItIsBehind(t *testing.T) {
	t.Parallel()
	ref, first := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web-1"}, &effective.Resolved{}
	l := newLedger()
	l.publish(models{ref: first}, 1, []api.Ref{ref})
	l.begin("b")
	l.hear("b", &Told{Sidecars: []*Sidecar{{Dataplane: named(ref), Stream: &Stream{}, Synced: true, Names: true}}})
	state := func() (out struct {
		InSync    bool
		Confirmed *effective.Resolved
		Acked     uint64
	}) {
		s, _ := l.state("b", l.peers["b"], ref, l.peers["b"].sidecars[ref])
		out.InSync, out.Confirmed, out.Acked = s.InSync, s.Confirmed, s.Acked
		return out
	}
	if s := state(); !s.InSync || s.Acked != 1 {
		t.Fatalf("%+v", s)
	}
	if n := l.peers["b"].resolving["default"]; n != 1 {
		t.Errorf("%d agents resolve names", n)
	}
	l.move(store.Step{Revision: 2, Heard: store.Position{"pods": 7}, Changed: store.Position{"pods": 7}})
	l.publish(models{ref: {}}, 2, []api.Ref{ref})
	if s := state(); s.InSync || s.Confirmed != first || s.Acked != 1 {
		t.Errorf("before the peer knows the change: %+v", s)
	}
	l.hear("b", &Told{Sidecars: []*Sidecar{{Dataplane: named(ref), Stream: &Stream{}}}, Heard: map[string]uint64{"pods": 7}})
	if s := state(); s.InSync || s.Confirmed != first || s.Acked != 1 {
		t.Errorf("before its Envoy has confirmed it: %+v", s)
	}
	l.hear("b", &Told{Sidecars: []*Sidecar{{Dataplane: named(ref), Stream: &Stream{}, Synced: true}}})
	if s := state(); !s.InSync || s.Confirmed != nil || s.Acked != 2 {
		t.Errorf("after: %+v", s)
	}
	l.hear("b", &Told{Gone: []*Dataplane{named(ref)}})
	if len(l.peers["b"].sidecars) > 0 || l.peers["b"].resolving["default"] != 0 {
		t.Error("a sidecar that went is still there")
	}
}

// TestWhatAPeerHasToldStaysUntilItHasToldAnew: a stream with a renewed token takes nothing away
// before all is told on it; and what sidecars had that are behind stays known.
func TestWhatAPeerHasToldStaysUntilItHasToldAnew(t *testing.T) {
	t.Parallel()
	a, b := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "a"}, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "b"}
	first, l := &effective.Resolved{}, newLedger()
	l.publish(models{a: first}, 1, []api.Ref{a})
	l.begin("peer")
	sidecar := func(ref api.Ref, synced bool) *Sidecar {
		return &Sidecar{Dataplane: named(ref), Stream: &Stream{}, Synced: synced}
	}
	l.hear("peer", &Told{Sidecars: []*Sidecar{sidecar(a, true), sidecar(b, true)}, Whole: true})
	l.hear("peer", &Told{Sidecars: []*Sidecar{sidecar(a, false)}})
	l.begin("peer")
	l.hear("peer", &Told{Sidecars: []*Sidecar{sidecar(a, false)}})
	if p := l.peers["peer"]; len(p.sidecars) != 2 || !l.inSync(p, p.sidecars[b]) {
		t.Fatalf("before all is told anew: %v", p.sidecars)
	}
	l.hear("peer", &Told{Whole: true})
	p := l.peers["peer"]
	if len(p.sidecars) != 1 {
		t.Fatalf("after all is told anew: %v", p.sidecars)
	}
	if s, _ := l.state("peer", p, a, p.sidecars[a]); s.InSync || s.Confirmed != first || s.Acked != 1 {
		t.Errorf("one that was behind: %+v", s)
	}
}
