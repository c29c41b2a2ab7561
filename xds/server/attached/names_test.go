package attached

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/attach"
)

// drawNames draws a list; its version follows from what is in it.
func drawNames(t *rapid.T, label string) *attach.Names {
	out := &attach.Names{Version: "v"}
	for n, address := range rapid.SliceOfN(rapid.IntRange(0, 3), 0, 12).Draw(t, label) {
		if address > 0 {
			out.Names = append(out.Names, &attach.Name{Name: fmt.Sprintf("n%02d", n), Addresses: []string{fmt.Sprint(address % 2)}, Last: address > 1})
			out.Version += fmt.Sprint(" ", n, " ", address)
		}
	}
	return out
}

// TestDifference: what is told to who was told a list before says what has changed and nothing
// else, and is the whole list where that is not longer.
func TestDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, now := drawNames(t, "before"), drawNames(t, "now")
		d := difference(before, now)
		if d.GetSince() != before.GetVersion() || d.GetVersion() != now.GetVersion() {
			t.Fatalf("from %q to %q", d.GetSince(), d.GetVersion())
		}
		had, has := byName(before), byName(now)
		for name, n := range had {
			if gone := slices.Contains(d.GetGone(), name); gone != (has[name] == nil) {
				t.Fatalf("%s goes: %v", n.GetName(), gone)
			}
		}
		told := byName(d)
		for name, n := range has {
			if again := told[name] != nil; again == proto.Equal(had[name], n) {
				t.Fatalf("%s is told: %v", name, again)
			}
		}
		for _, name := range slices.Concat(slices.Collect(maps.Keys(told)), d.GetGone()) {
			if has[name] == nil && had[name] == nil {
				t.Fatalf("%s comes from nowhere", name)
			}
		}
		var s steps
		step := s.between(before, now)
		if step != s.between(before, now) {
			t.Fatal("the step is worked out anew")
		}
		if whole := len(d.GetNames())+len(d.GetGone()) >= len(now.GetNames()); whole != (step == now) || !whole && !proto.Equal(step, d) {
			t.Fatalf("of %d names %d are new and %d gone, and told are %v", len(has), len(told), len(d.GetGone()), step)
		}
	})
}

func byName(n *attach.Names) map[string]*attach.Name {
	out := map[string]*attach.Name{}
	for _, x := range n.GetNames() {
		out[x.GetName()] = x
	}
	return out
}

// TestSteps: an agent has the list of now after each step, however many lists it was not told
// of in between, and takes no step from a list that it does not have.
func TestSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := make([]*attach.Names, rapid.IntRange(2, 6).Draw(t, "lists"))
		for i := range lists {
			lists[i] = drawNames(t, fmt.Sprint("list ", i))
		}
		s, agents := steps{}, make([]attach.NameList, 2)
		told := make([]*attach.Names, len(agents))
		for i, now := range lists {
			for j := range agents {
				if i > 0 && rapid.Bool().Draw(t, "is asleep") {
					continue
				}
				what := now
				if told[j] != nil {
					what = s.between(told[j], now)
				}
				got, err := agents[j].Tell(what)
				if err != nil {
					t.Fatal(err)
				}
				if !maps.EqualFunc(got, byName(now), func(a, b *attach.Name) bool { return proto.Equal(a, b) }) {
					t.Fatalf("agent %d has %v of %v", j, got, now)
				}
				told[j] = now
			}
		}
		for j := range agents {
			if _, err := agents[j].Tell(&attach.Names{Since: "another", Version: "next"}); err == nil {
				t.Fatal("changes of another list are taken")
			}
		}
	})
}

// TestStepsFromFarBehind: a step is the same whether or not it is still known, and however
// many others were taken since: who was told a list long ago is told all that has changed.
func TestStepsFromFarBehind(t *testing.T) {
	t.Parallel()
	list := func(n int) *attach.Names { // has n names, the last of which moves each time
		out := &attach.Names{Version: fmt.Sprint(n)}
		for i := range 8 {
			out.Names = append(out.Names, &attach.Name{Name: fmt.Sprint("n", i), Addresses: []string{"10.0.0.1"}})
		}
		out.Names[n%8].Addresses = []string{fmt.Sprintf("10.0.%d.%d", n/250, n%250)}
		return out
	}
	var s steps
	first := list(0)
	for n := 1; n <= 3*mostSteps; n++ {
		now := list(n)
		if got, want := s.between(first, now), difference(first, now); !proto.Equal(got, want) {
			t.Fatalf("at %d it is told %v, not %v", n, got, want)
		}
		if got, want := s.between(list(n-1), now), difference(list(n-1), now); !proto.Equal(got, want) {
			t.Fatalf("from %d to %d it is told %v, not %v", n-1, n, got, want)
		}
		if len(s.known) > mostSteps {
			t.Fatalf("%d steps are kept", len(s.known))
		}
	}
}
