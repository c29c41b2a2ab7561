package routes

import (
	"testing"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// TestNoPrefixToReplace: a rewrite of the prefix changes nothing where the match names none, as the
// route says of it; what a dialect lets through by mistake must not change every path.
func TestNoPrefixToReplace(t *testing.T) {
	t.Parallel()
	prefix := "/new"
	rewrite := &route.PathRewrite{Prefix: &prefix}
	for _, on := range []*match.Condition{
		{On: match.OnPath, Op: match.FullMatch, Value: "/a.*"},
		{On: match.OnHeader, Name: "x", Op: match.Equal, Value: "a"},
	} {
		if _, changes := rewrite.Of(on, "/abc"); changes {
			t.Fatalf("%+v names a prefix", on)
		}
		if got := rewritten(rewrite, on); got != (pathChange{}) {
			t.Errorf("%+v: %+v", on, got)
		}
	}
}
