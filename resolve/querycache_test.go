package resolve_test

import (
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
)

// What was known of an earlier model is followed with all that changed since, is given up after
// many changes, and is not kept of one who left.
func TestFollowed(t *testing.T) {
	t.Parallel()
	s := snapshot.New(0)
	m, _ := resolve.Compile(s, nil, nil)
	change := func(n int) {
		var changes []snapshot.Change
		for i := range n {
			changes = append(changes, snapshot.Change{After: &api.Object{Ref: api.Ref{Kind: api.KindMesh, Name: fmt.Sprint(s.Revision(), i)}, Spec: &api.Mesh{}}})
		}
		s = s.With(s.Revision()+1, changes)
		m, _ = m.Update(s, changes)
	}
	ask := func(gone func() bool) string {
		q := m.Reader(gone)
		look := func() {
			for range 100 {
				q.Visit()
			}
		}
		return resolve.CachedAcross(q, "key", func() string {
			look()
			return "found"
		}, func(was string, changes []snapshot.Change) string {
			look()
			return fmt.Sprint(was, "+", len(changes))
		})
	}
	gone := func() bool { return true }
	for _, step := range []struct {
		changes []int
		gone    func() bool
		want    string
	}{
		{nil, gone, "found"}, {nil, nil, "found"}, {nil, nil, "found"},
		{[]int{1}, gone, "found+1"}, {[]int{2}, nil, "found+3"}, {nil, nil, "found+3"},
		{[]int{1, 1, 1}, nil, "found+3+3"},
		{[]int{600, 401}, nil, "found"}, {[]int{1000}, nil, "found+1000"}, {[]int{1001}, nil, "found"},
	} {
		for _, n := range step.changes {
			change(n)
		}
		if got := ask(step.gone); got != step.want {
			t.Errorf("after changes %v: %s, want %s", step.changes, got, step.want)
		}
	}
}
