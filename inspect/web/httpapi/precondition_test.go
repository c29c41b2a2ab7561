package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// TestPreconditions: a change is made only where the object is as its writer has seen it: with If-Match at one of the
// tags, which are not weak, with If-None-Match at none of them, be they weak or not; * is any version.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	ref := api.Ref{Kind: api.KindMesh, Name: "default"}
	there, gone := snapshot.New(7, &api.Object{Ref: ref, Revision: 7}), snapshot.New(7)
	for _, c := range []struct {
		match, none    string
		changes, makes bool // where the object is there, and where it is not
	}{
		{"", "", true, true},
		{`"7"`, "", true, false},
		{`"6"`, "", false, false},
		{`"6", "7"`, "", true, false},
		{`W/"7"`, "", false, false},
		{"*", "", true, false},
		{"", "*", false, true},
		{"", `"7"`, false, true},
		{"", `W/"7"`, false, true},
		{"", `"6"`, true, true},
		{"", `"6", W/"7"`, false, true},
	} {
		r := &http.Request{Header: http.Header{}}
		for name, value := range map[string]string{"If-Match": c.match, "If-None-Match": c.none} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		check := httpapi.Preconditions(r, ref)
		if err := check(there); (err == nil) != c.changes {
			t.Errorf("If-Match %s, If-None-Match %s, and it is at 7: %v", c.match, c.none, err)
		}
		if err := check(gone); (err == nil) != c.makes {
			t.Errorf("If-Match %s, If-None-Match %s, and it is not there: %v", c.match, c.none, err)
		}
	}
}
