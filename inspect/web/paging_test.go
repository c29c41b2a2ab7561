package web_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/internal/apitest"
)

// onePage is a part of any list.
type onePage struct {
	Total int
	Items []map[string]any
	Next  *string
}

func pageAt(t *testing.T, url string) onePage {
	t.Helper()
	code, text := call(t, http.MethodGet, url, "")
	var p onePage
	if err := json.Unmarshal([]byte(text), &p); err != nil || code != http.StatusOK || p.Items == nil {
		t.Fatalf("%s: %d %.300s", url, code, text)
	}
	return p
}

// Every list that the description gives a size and an offset is whole whatever the size of its
// pages, of which each but the last has the address of the next (spec/kuma.md 5.1).
func TestEveryListIsPaged(t *testing.T) {
	t.Parallel()
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	server, _ := serve(t, town(7), false)
	paged, long := 0, 0
	for path, methods := range doc.Paths {
		o, ok := methods["get"]
		has := func(name string) bool {
			return slices.ContainsFunc(o.Parameters, func(p apitest.Parameter) bool { return p.In == "query" && p.Name == name })
		}
		if !ok || !has("size") || !has("offset") || path == "/meshes/{mesh}/_status" || strings.HasSuffix(path, "/_explain") { // TestAStatusInParts, TestAnExplanationInParts
			continue
		}
		request := strings.TrimPrefix(laws["GET "+path].request, "GET ")
		at, _, _ := strings.Cut(server.URL+request, "?")
		whole := pageAt(t, at+"?size=1000")
		paged++
		if len(whole.Items) > 2 {
			long++
		}
		if whole.Total != len(whole.Items) || whole.Next != nil {
			t.Errorf("%s: total %d, %d items, next %v", path, whole.Total, len(whole.Items), whole.Next)
		}
		got := []map[string]any{}
		for next := at + "?size=2"; ; {
			p := pageAt(t, next)
			if got = append(got, p.Items...); p.Total != whole.Total || len(p.Items) > 2 {
				t.Errorf("%s: total %d, %d items", next, p.Total, len(p.Items))
			}
			if p.Next == nil {
				break
			}
			if next = *p.Next; !strings.HasPrefix(next, server.URL+"/") || len(got) > len(whole.Items) {
				t.Fatalf("%s: next is %s", path, next)
			}
		}
		if !reflect.DeepEqual(got, whole.Items) {
			t.Errorf("%s: its pages hold %d of %d items, or others", path, len(got), len(whole.Items))
		}
		if p := pageAt(t, at+"?offset=9999"); p.Total != whole.Total || len(p.Items) > 0 || p.Next != nil {
			t.Errorf("%s: beyond the end: %+v", path, p)
		}
		if p := pageAt(t, at+"?name=no+such+name"); p.Total != 0 || len(p.Items) > 0 || p.Next != nil {
			t.Errorf("%s: of another name: %+v", path, p)
		}
	}
	if paged < 15 || long < 8 {
		t.Errorf("only %d lists are paged, %d of them with more than a page", paged, long)
	}
}

// The objects of a status in parts are those of the whole, each with the same conditions.
func TestAStatusInParts(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, town(7), false)
	at := func(url string) (o conditions.Overview) {
		t.Helper()
		if code, text := call(t, http.MethodGet, url, ""); code != http.StatusOK || json.Unmarshal([]byte(text), &o) != nil {
			t.Fatalf("%s: %d %s", url, code, text)
		}
		return o
	}
	whole := at(server.URL + "/meshes/default/_status")
	if whole.Total != len(whole.Objects) || whole.Total < 20 || whole.Next != nil || whole.Sidecars.Total != 7 {
		t.Fatalf("total %d, %d objects, next %v, %d sidecars", whole.Total, len(whole.Objects), whole.Next, whole.Sidecars.Total)
	}
	var got []conditions.Status
	for next := server.URL + "/meshes/default/_status?size=3"; ; {
		o := at(next)
		if got = append(got, o.Objects...); o.Total != whole.Total || o.Sidecars.Total != 7 || len(o.Objects) > 3 {
			t.Errorf("%s: total %d, %d objects, %d sidecars", next, o.Total, len(o.Objects), o.Sidecars.Total)
		}
		if o.Next == nil {
			break
		}
		next = *o.Next
	}
	if !reflect.DeepEqual(got, whole.Objects) {
		t.Errorf("the parts hold %d of %d objects, or others", len(got), len(whole.Objects))
	}
	if o := at(server.URL + "/meshes/default/_status?name=r-5"); o.Total != 2 || o.Objects[0].Ref.Name != "r-5" {
		t.Errorf("by name: %d of %d", len(o.Objects), o.Total)
	}
	for _, query := range []string{"kind=MeshRetry", "kind=MeshRetry,MeshTimeout", "state=problem", "state=fine", "state=problem&kind=MeshRetry"} {
		want := slices.DeleteFunc(slices.Clone(whole.Objects), func(s conditions.Status) bool {
			return strings.Contains(query, "kind=") && s.Ref.Kind != "MeshRetry" && (s.Ref.Kind != "MeshTimeout" || !strings.Contains(query, "MeshTimeout")) ||
				strings.Contains(query, "state=") && (s.Wrong() != nil) != strings.Contains(query, "problem")
		})
		if o := at(server.URL + "/meshes/default/_status?" + query); o.Total != len(want) || len(want) > 0 && !reflect.DeepEqual(o.Objects, want) {
			t.Errorf("%s: %d of %d objects, wanted %d", query, len(o.Objects), o.Total, len(want))
		}
		if o := at(server.URL + "/meshes/default/_status?size=1&offset=1&" + query); o.Total != len(want) || len(want) > 1 && !reflect.DeepEqual(o.Objects, want[1:2]) {
			t.Errorf("a page of %s: %d of %d objects", query, len(o.Objects), o.Total)
		}
	}
	var all, part problemsPage
	for at, into := range map[string]*problemsPage{"": &all, "?size=1": &part} {
		if _, text := call(t, http.MethodGet, server.URL+"/_problems"+at, ""); json.Unmarshal([]byte(text), into) != nil {
			t.Fatal(text)
		}
	}
	if all.Owners != len(all.Items) || all.Owners < 2 || part.Total != all.Total || part.Owners != all.Owners || len(part.Items) != 1 || part.Next == nil {
		t.Errorf("problems: %+v, and a part of them %+v", all, part)
	}
	for query, want := range map[string]string{"kind=Mesh": "Mesh is no kind of policy", "state=broken": "use fine, problem"} {
		if code, text := call(t, http.MethodGet, server.URL+"/meshes/default/_status?"+query, ""); code != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(text, `\"`, ""), want) {
			t.Errorf("%s: %d %s", query, code, text)
		}
	}
}

type problemsPage struct {
	Total, Owners int
	Items         []conditions.ProblemOwner
	Next          *string
}

// Lists that Kuma does not page are whole, and say nothing of another page.
func TestListsThatAreNotPaged(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, town(3), false)
	for _, path := range []string{"/meshes/default/meshservices/m-1/_hostnames", "/meshes/default/dataplanes/d-1/rules"} {
		code, text := call(t, http.MethodGet, server.URL+path+"?size=1", "")
		var p onePage
		if err := json.Unmarshal([]byte(text), &p); err != nil || code != http.StatusOK || p.Total != len(p.Items) || p.Total == 0 || strings.Contains(text, `"next"`) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
}

// What is not there, not possible or not meant is told in the one form of errors, with a
// status that clients know what to do about.
func TestErrorsByStatus(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, viewed, false)
	for request, want := range map[string]int{
		"GET /nothing": 404, "GET /meshes/default/nothing": 404, "GET /meshes/none": 404, "GET /meshes/default/meshtimeouts/none": 404,
		"GET /meshes/none/meshtimeouts": 404, "GET /meshes/none/dataplanes/_overview": 404, "GET /meshes/none/dataplanes/a-1/_rules": 404, "GET /meshes/none/_status": 404,
		"GET /meshes/default/dataplanes/none/_layout": 404, "GET /mesh-insights/none": 404, "GET /meshes/none/service-insights": 404, "DELETE /meshes/default/meshtimeouts/none": 404,
		"GET /meshes/default/meshretries/_explain": 404, "GET /_kri/nonsense": 400, "GET /_kri/kri_mt_default___none_": 404,
		"POST /meshes": 405, "DELETE /meshes/default/meshtimeouts": 405, "PUT /_resources": 405, "PATCH /meshes/default": 405,
		`PUT /meshes/default/meshtimeouts/x {"type":"MeshTimeout","mesh":"other","name":"x"}`: 400, `PUT /meshes/default/meshtimeouts/x {"type":"MeshRetry","mesh":"default","name":"x"}`: 400,
		`PUT /meshes/default/meshtimeouts/x {"type":"MeshTimeout","mesh":"default","name":"y"}`: 400, `PUT /meshes/none/meshtimeouts/x {"type":"MeshTimeout","mesh":"none","name":"x","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"idleTimeout":"1s"}}]}}`: 400,
		"PUT /meshes/default/zones/x {}": 404, "PUT /zones/x {}": 400, "PUT /meshes/default/retries/x {}": 400,
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		code, text := call(t, method, server.URL+path, body)
		var said struct {
			Type, Title, Detail, Details string
			Status                       int
			Wrong                        []struct{ Field, Reason string } `json:"invalid_parameters"`
			Causes                       []struct{ Field, Message string }
		}
		if err := json.Unmarshal([]byte(text), &said); err != nil || code != want || said.Status != want || said.Type != "/std-errors" || said.Title == "" || said.Detail == "" || said.Details != said.Detail {
			t.Errorf("%s: %d %s, want %d", request, code, text, want)
		}
		if len(said.Wrong) != len(said.Causes) || want == http.StatusBadRequest && len(said.Wrong) == 0 {
			t.Errorf("%s: its causes are not its parameters: %s", request, text)
		}
	}
}
