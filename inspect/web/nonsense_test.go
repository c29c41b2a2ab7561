package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/apitest"
)

// nonsense are values that a parameter cannot have, by what the document says of it.
func nonsense(p apitest.Parameter) map[string][]string {
	s, repeats := p.Schema, p.Schema["type"] == "array"
	if items, ok := s["items"].(map[string]any); ok {
		s = items
	}
	out := map[string][]string{"control characters": {"a\x00b"}}
	if s["type"] == "integer" || s["type"] == "boolean" {
		out["wrong type"], out["empty"] = []string{"nonsense"}, []string{""}
	}
	if s["type"] == "integer" {
		out["too small"], out["too large"] = []string{"-1"}, []string{"99999999999999999999"}
	}
	if s["enum"] != nil {
		out["unknown"] = []string{"nonsense"}
	}
	if most, ok := s["maxLength"].(float64); ok {
		out["too long"] = []string{strings.Repeat("x", int(most)+1)}
	}
	if !repeats {
		out["repeated"] = []string{"1", "1"}
	}
	return out
}

// inPath are parts of paths that are good, so that what is wrong is the query or the body.
var inPath = strings.NewReplacer("{mesh}", "default", "{plural}", "meshtimeouts", "{name}", "a-1", "{kind}", "MeshRetry.json", "{kri}", "kri_mt_default___all_", "{route}", "kri_mt_default___all_",
	"{group}", "core", "{version}", "v1", "{namespace}", "a")

// wrongAt are the fields that an answer names, which must be one about a mistake.
func wrongAt(t *testing.T, what string, code int, text string) (fields []string) {
	t.Helper()
	var said struct {
		Wrong []struct{ Field, Reason string } `json:"invalid_parameters"`
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil || code != http.StatusBadRequest || len(said.Wrong) == 0 {
		t.Errorf("%s: %d %.300s", what, code, text)
	}
	for _, w := range said.Wrong {
		fields = append(fields, w.Field)
	}
	return fields
}

// All that is wrong with a query is told at once, and with a body too.
func TestAllMistakesAreToldAtOnce(t *testing.T) {
	t.Parallel()
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	server, _ := serve(t, viewed, false)
	for path, methods := range doc.Paths {
		for method, o := range methods {
			q, want := url.Values{}, []string{}
			for _, p := range o.Parameters {
				if p.In != "query" {
					continue
				}
				name := p.Name
				if p.Style == "deepObject" {
					name += "[nonsense]"
				}
				q[name], want = []string{"a\x00b"}, append(want, name)
			}
			if len(want) == 0 {
				continue
			}
			code, text := call(t, strings.ToUpper(method), server.URL+inPath.Replace(path)+"?"+q.Encode(), "")
			got := wrongAt(t, method+" "+path, code, text)
			slices.Sort(want)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s %s tells of %v, wanted %v", method, path, got, want)
			}
		}
	}
	for body, want := range map[string][]string{
		`{"url":1,"headers":{"a":[1]},"body":"x","versoin":"2","draw":{}}`: {"body", "draw", "headers.a", "url", "versoin"},
		`{}`: {"url"},
	} {
		code, text := call(t, http.MethodPost, server.URL+"/meshes/default/dataplanes/a-1/_simulate", body)
		if got := wrongAt(t, body, code, text); !slices.Equal(got, want) {
			t.Errorf("%s: %v, wanted %v: %s", body, got, want, text)
		}
	}
	code, text := call(t, http.MethodPost, server.URL+"/tokens/dataplane", `{"type":"ingress","validFor":"soon","more":1}`)
	if got := wrongAt(t, "a token", code, text); !slices.Equal(got, []string{"validFor", "name", "type"}) {
		t.Error(text)
	}
}

// Every parameter of every endpoint refuses what the description says that it cannot be, by
// name and with what to do.
func TestEveryParameterRefusesNonsense(t *testing.T) {
	t.Parallel()
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	server, _ := serve(t, viewed, false)
	asked := 0
	for path, methods := range doc.Paths {
		for method, o := range methods {
			for _, p := range o.Parameters {
				if p.In != "query" || p.Style != "" {
					continue
				}
				for what, values := range nonsense(p) {
					asked++
					code, text := call(t, strings.ToUpper(method), server.URL+inPath.Replace(path)+"?"+url.Values{p.Name: values}.Encode(), "")
					if code != http.StatusBadRequest || !strings.Contains(text, `"invalid_parameters":[{"field":"`+p.Name+`"`) {
						t.Errorf("%s %s: %s, %s: %d %.300s", method, path, p.Name, what, code, text)
					}
				}
			}
		}
	}
	if asked < 400 {
		t.Errorf("only %d questions were asked", asked)
	}
}

// A question with a parameter that nothing knows is answered, with a warning; a filter that
// is none is refused.
func TestUnknownParametersAreToldOf(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, viewed, false)
	resp, err := http.Get(server.URL + "/meshes?siez=10")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("Warning"), "siez") {
		t.Errorf("%d, warning %q", resp.StatusCode, resp.Header.Get("Warning"))
	}
	for _, query := range []string{"filter=x", "filter%5Bname%5D=x", "tag=x", "%zz=1"} {
		if code, text := call(t, http.MethodGet, server.URL+"/dataplanes?"+query, ""); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, code, text)
		}
	}
}
