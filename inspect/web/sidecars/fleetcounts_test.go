package sidecars_test

import (
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/sidecars"
)

// silent are sidecars that are not asked.
type silent = sidecars.Sidecars

// fleet is sidecars of which it counts who is asked for.
type fleet struct {
	silent
	all   []inspect.Sidecar
	asked *int
}

func ref(name string) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
}

func (f fleet) Sidecar(dp api.Ref) (inspect.Sidecar, bool) {
	*f.asked++
	return inspect.Listed(f.all)(dp)
}

// TestKnownByTheCensus: of sidecars that follow nobody asks one by one, of the others what is told
// is theirs; and where most do not follow, each is asked.
func TestKnownByTheCensus(t *testing.T) {
	t.Parallel()
	for _, following := range []int{8, 2} {
		text := "{type: Mesh, name: default}\n"
		asked := 0
		f := fleet{asked: &asked}
		for i := range 12 {
			text += fmt.Sprintf("---\n{type: Dataplane, mesh: default, name: d-%d, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: x}}]}}\n", i)
			s := inspect.Sidecar{Dataplane: ref(fmt.Sprintf("d-%d", i)), Connected: true, InSync: true}
			if i >= following {
				s = []inspect.Sidecar{{Dataplane: s.Dataplane, Connected: true}, {Dataplane: s.Dataplane, Connected: true, InSync: true, Refusal: &inspect.Refusal{Type: "lds"}},
					{Dataplane: s.Dataplane}, {Dataplane: s.Dataplane, Connected: true, Note: "held"}}[i%4]
			}
			if i != 11 { // never connected
				f.all = append(f.all, s)
			}
		}
		objects, _ := world.Decode("t.yaml", []byte(text))
		m, _ := world.Compile(world.Snapshot(objects...))
		known := sidecars.FindIn(sidecars.Counting(f), f, m.Reader(nil), "default")
		asked = 0
		states := map[api.Ref]inspect.State{}
		for r := range m.Dataplanes("default") {
			s, _ := known(r.Ref)
			states[r.Ref] = s.State()
		}
		want := 12
		if following == 8 {
			want = 4
		}
		if asked != want {
			t.Errorf("%d of 12 sidecars are asked where %d follow, wanted %d", asked, following, want)
		}
		for r, got := range states {
			if s, _ := f.Sidecar(r); s.State() != got {
				t.Errorf("%s is %s, wanted %s", r, got, s.State())
			}
		}
	}
}
