package contour

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// TestFilledHeadersInWords: a header that is filled in is written as an HTTPProxy fills it in, where it reads that back
// as it was; what it would read otherwise, and what stands as it is and would be filled in, is told.
func TestFilledHeadersInWords(t *testing.T) {
	t.Parallel()
	fill := func(add bool, parts ...route.Part) route.HeaderModifier {
		return route.HeaderModifier{Fill: []route.Filled{{Name: "x-a", Parts: parts, Add: add}}}
	}
	for _, c := range []struct {
		what string
		of   route.HeaderModifier
		want string // empty: it is told
	}{
		{"a header", fill(false, route.Part{Header: "x-b"}), "%REQ(x-b)%"},
		{"a header in a text", fill(false, route.Part{Text: "a-"}, route.Part{Header: "x-b"}), "a-%REQ(x-b)%"},
		{"one more line", fill(true, route.Part{Header: "x-b"}), ""},
		{"a header of the answer", fill(false, route.Part{Answer: "x-b"}), ""},
		{"a text like one", fill(false, route.Part{Text: "%REQ(x-c)%"}, route.Part{Header: "x-b"}), ""},
		{"a plain value", route.HeaderModifier{Set: []route.Header{{Name: "x-a", Value: "100%"}}}, "100%"},
		{"a plain value like one", route.HeaderModifier{Set: []route.Header{{Name: "x-a", Value: "%REQ(x-b)%"}}}, ""},
	} {
		p := &printer{Printer: route.NewPrinter(&route.Table{Lines: []route.Line{{Match: matches.Path(match.Equal, "/"), MergedRule: &route.MergedRule{}}}})}
		p.Begin(0)
		got := p.policy([]route.HeaderModifier{c.of})
		if p.Failed != (c.want == "") {
			t.Errorf("%s: it is told is %v: %+v", c.what, p.Failed, got)
		}
		if diff := cmp.Diff(&HeadersPolicy{Set: []HeaderValue{{Name: "x-a", Value: c.want}}}, got); c.want != "" && diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}
