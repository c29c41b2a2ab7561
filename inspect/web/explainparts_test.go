package web_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/explain"
)

func explained(t *testing.T, url string) explain.Explanation {
	t.Helper()
	code, text := call(t, http.MethodGet, url, "")
	var e explain.Explanation
	if err := json.Unmarshal([]byte(text), &e); err != nil || code != http.StatusOK || e.Outbounds == nil {
		t.Fatalf("%s: %d %v %.300s", url, code, err, text)
	}
	return e
}

// The pages of an explanation hold together the outbounds of the whole, each with all else of it.
func TestAnExplanationInParts(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, town(7), false)
	at := server.URL + "/meshes/default/dataplanes/d-5/_explain"
	for query, most := range map[string]int{"?": 3, "?brief=true&": 3, "?about=MeshTimeout/t-0&": 1, "?name=s-&": 3, "?name=s-6&": 1, "?to=s-0&": 1} {
		whole := explained(t, at+query)
		if len(whole.Outbounds) != most || whole.OutboundsTotal != most || whole.Next != nil {
			t.Fatalf("%s: %d outbounds of %d, next %v", query, len(whole.Outbounds), whole.OutboundsTotal, whole.Next)
		}
		together := whole
		together.Outbounds = nil
		for next := at + query + "size=2"; ; {
			e := explained(t, next)
			together.Outbounds = append(together.Outbounds, e.Outbounds...)
			after := e.Next
			if e.Outbounds, e.Next = together.Outbounds, nil; !reflect.DeepEqual(e, together) {
				t.Errorf("%s: beside the outbounds it says something else than the whole", next)
			}
			if after == nil {
				break
			}
			if next = *after; len(together.Outbounds) > most {
				t.Fatalf("%s: no end", next)
			}
		}
		if !reflect.DeepEqual(together, whole) {
			t.Errorf("%s: the pages hold %d outbounds, or others", query, len(together.Outbounds))
		}
	}
	if e := explained(t, at+"?offset=9"); len(e.Outbounds) != 0 || e.OutboundsTotal != 3 || e.Next != nil || len(e.Inbounds) != 1 {
		t.Errorf("beyond the end: %+v", e)
	}
	if e := explained(t, at+"?name=nothing"); len(e.Outbounds) != 0 || e.OutboundsTotal != 0 {
		t.Errorf("of another name: %+v", e)
	}
	for _, bad := range []string{"size=0", "size=1001", "offset=-1", "size=x"} {
		if code, text := call(t, http.MethodGet, at+"?"+bad, ""); code != http.StatusBadRequest || !strings.Contains(text, `"field":"`+bad[:strings.Index(bad, "=")]+`"`) {
			t.Errorf("%s: %d %s", bad, code, text)
		}
	}
}
