package attached

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/attach"
)

func drawNames(t *rapid.T, label string) *attach.Names {
	out := &attach.Names{Version: label}
	for n, address := range rapid.SliceOfN(rapid.IntRange(0, 2), 0, 12).Draw(t, label) {
		if address > 0 {
			out.Names = append(out.Names, &attach.Name{Name: fmt.Sprintf("n%02d", n), Addresses: []string{fmt.Sprint(address)}})
		}
	}
	return out
}

// TestDifference: who applies what is told to what was told before has the list of now, and
// is told no name that did not change.
func TestDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, now := drawNames(t, "before"), drawNames(t, "now")
		d := difference(before, now)
		if d.GetSince() != "before" || d.GetVersion() != "now" {
			t.Fatalf("from %q to %q", d.GetSince(), d.GetVersion())
		}
		byName := map[string]*attach.Name{}
		for _, n := range before.GetNames() {
			byName[n.GetName()] = n
		}
		for _, name := range d.GetGone() {
			if byName[name] == nil {
				t.Fatalf("%s goes, and was not there", name)
			}
			delete(byName, name)
		}
		for _, n := range d.GetNames() {
			if proto.Equal(byName[n.GetName()], n) {
				t.Fatalf("%s is told again", n.GetName())
			}
			byName[n.GetName()] = n
		}
		var got []*attach.Name
		for _, n := range byName {
			got = append(got, n)
		}
		slices.SortFunc(got, func(a, b *attach.Name) int { return strings.Compare(a.GetName(), b.GetName()) })
		if !slices.EqualFunc(got, now.GetNames(), func(a, b *attach.Name) bool { return proto.Equal(a, b) }) {
			t.Fatalf("it comes to %v, not %v", got, now.GetNames())
		}
		var s steps
		if told := s.between(before, now); proto.Size(told) > proto.Size(now)+proto.Size(d) || told != s.between(before, now) {
			t.Fatal("the step is worked out anew, or longer than the list")
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
