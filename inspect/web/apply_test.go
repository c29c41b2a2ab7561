package web_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/inspect"
)

// lost is a policy on a route that is not there.
const lost = `type: MeshRetry
mesh: default
name: lost
spec: {targetRef: {kind: MeshHTTPRoute, name: zz}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}
`

// answered is what POST /_apply answers.
type answered struct {
	Revision uint64
	DryRun   bool
	Results  []struct{ Object, Action string }
	Warnings []inspect.Violation
}

func apply(t *testing.T, url, body string) answered {
	t.Helper()
	code, text := call(t, http.MethodPost, url, body)
	var a answered
	if err := json.Unmarshal([]byte(text), &a); err != nil || code != http.StatusOK {
		t.Fatalf("%s: %d %s", url, code, text)
	}
	return a
}

// What is meant as a dry run never writes, however it is misspelled.
func TestADryRunNeverWrites(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	for query, want := range map[string]int{
		"dryRun=true": 200, "dryRun=1": 200, "dryRun=True": 200,
		"dryRun=yes": 400, "dryRun=": 400, "dryRun": 400, "dryRun=ture": 400, "dryRun=false&dryRun=true": 400,
		"dryrun=true": 400, "dry-run=true": 400, "dryRun=true%ZZ": 400,
	} {
		code, text := call(t, http.MethodPost, server.URL+"/_apply?"+query, lost)
		if code != want || want == 400 && !strings.Contains(text, `"/std-errors"`) {
			t.Errorf("%s: %d %s", query, code, text)
		}
		if code, _ := call(t, http.MethodGet, server.URL+"/meshes/default/meshretries/lost", ""); code != http.StatusNotFound {
			t.Fatalf("%s: it was stored", query)
		}
	}
	const one = "/meshes/default/meshretries/lost?dryRun=true"
	for method, want := range map[string]int{http.MethodPut: http.StatusBadRequest, http.MethodDelete: http.StatusNotFound} {
		if code, text := call(t, method, server.URL+one, lost); code != want {
			t.Errorf("%s %s: %d %s", method, one, code, text)
		}
	}
	if a := apply(t, server.URL+"/_apply?dryRun=false", lost); a.DryRun || a.Results[0].Action != "created" {
		t.Errorf("no dry run: %+v", a)
	}
	if code, text := call(t, http.MethodDelete, server.URL+one, ""); code != http.StatusOK || !strings.Contains(text, `"dryRun":true`) {
		t.Errorf("DELETE %s: %d %s", one, code, text)
	}
	if code, _ := call(t, http.MethodGet, server.URL+"/meshes/default/meshretries/lost", ""); code != http.StatusOK {
		t.Error("it was deleted")
	}
}

// A dry run says the same of references that lead nowhere as the real thing,
// and it reckons with all that would be written.
func TestADryRunWarnsAsTheRealThing(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	dry := apply(t, server.URL+"/_apply?dryRun=true", lost)
	if len(dry.Warnings) != 1 || dry.Warnings[0].Code != "TargetNotFound" || dry.Warnings[0].Line != 4 {
		t.Errorf("the dry run warns %+v", dry.Warnings)
	}
	if done := apply(t, server.URL+"/_apply", lost); len(done.Warnings) != 1 || done.Warnings[0] != dry.Warnings[0] {
		t.Errorf("the dry run said %+v, then %+v", dry.Warnings, done.Warnings)
	}
	const route = "---\ntype: MeshHTTPRoute\nmesh: default\nname: zz\nspec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /}}], default: {}}]}]}\n"
	for _, w := range apply(t, server.URL+"/_apply?dryRun=true", lost+route).Warnings {
		if strings.Contains(w.Message, "zz") {
			t.Errorf("the route comes along: %+v", w)
		}
	}
}

// Warnings stand at the places of the text that was just sent, also where the
// store keeps one that says the same.
func TestWarningsHaveThePlacesOfWhatWasSent(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	apply(t, server.URL+"/_apply?file=old.yaml", lost)
	a := apply(t, server.URL+"/_apply?file=new.yaml", "# a comment\n\n"+lost)
	if len(a.Warnings) != 1 || a.Warnings[0].File != "new.yaml" || a.Warnings[0].Line != 6 || a.Results[0].Action != "unchanged" {
		t.Errorf("%+v", a)
	}
}

// form is the body and the content type of a form with the texts of files.
func form(t *testing.T, texts ...decode.Text) (string, string) {
	t.Helper()
	var body strings.Builder
	w := multipart.NewWriter(&body)
	for _, text := range texts {
		field, err := w.CreateFormField(text.File)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := field.Write(text.Text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return body.String(), w.FormDataContentType()
}

func post(t *testing.T, url, contentType, body string) (int, string) {
	t.Helper()
	return send(t, http.MethodPost, url, body, "Content-Type", contentType)
}

// Several files are applied together, and each finding names its file.
func TestApplyTakesAFormOfFiles(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	other := strings.ReplaceAll(lost, "lost", "other")
	bad := strings.ReplaceAll(other, "numRetries", "numRetrys")
	file := func(name, text string) decode.Text { return decode.Text{File: name, Text: []byte(text)} }
	for name, c := range map[string]struct {
		texts  []decode.Text
		status int
		want   string
	}{
		"one is refused":       {[]decode.Text{file("a.yaml", lost), file("b.yaml", "\n"+bad)}, 400, `"file":"b.yaml","line":5`},
		"one object twice":     {[]decode.Text{file("a.yaml", lost), file("b.yaml", lost)}, 400, `first at a.yaml:1:1`},
		"no documents":         {[]decode.Text{file("a.yaml", "# none\n")}, 400, `no documents`},
		"no files":             {nil, 400, `no documents`},
		"a name to write with": {[]decode.Text{file("a\u0085.yaml", lost)}, 400, `control characters`},
		"an endless name":      {[]decode.Text{file(strings.Repeat("a", 2000), lost)}, 400, `at most 1024`},
		"too large":            {[]decode.Text{file("a.yaml", lost+strings.Repeat("#\n", 33<<20))}, 413, `too large`},
	} {
		body, kind := form(t, c.texts...)
		if code, text := post(t, server.URL+"/_apply", kind, body); code != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	body, kind := form(t, file(`C:\dir "x"/ü.yaml`, lost), file("b.yaml", "\n"+other))
	if code, _ := post(t, server.URL+"/_apply?file=c.yaml", kind, body); code != http.StatusBadRequest {
		t.Errorf("two names for one text: %d", code)
	}
	if code, _ := post(t, server.URL+"/_apply", kind, body[:len(body)/2]); code != http.StatusBadRequest {
		t.Errorf("half a form: %d", code)
	}
	if _, text := call(t, http.MethodGet, server.URL+"/meshretries", ""); !strings.Contains(text, `"total":0`) {
		t.Fatalf("something was stored: %s", text)
	}
	code, text := post(t, server.URL+"/_apply", kind, body)
	if code != http.StatusOK || !strings.Contains(text, `{"file":"C:\\dir \"x\"/ü.yaml","line":4`) || !strings.Contains(text, `{"file":"b.yaml","line":5`) {
		t.Errorf("%d %s", code, text)
	}
	if _, text := call(t, http.MethodGet, server.URL+"/_problems", ""); !strings.Contains(text, `"file":"b.yaml","line":5`) {
		t.Errorf("the places are not kept: %s", text)
	}
}

// All that is wrong is said at once: what texts say, and what the world lacks.
func TestAnUnknownMeshIsSaidBesideEverythingElse(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	stray := strings.ReplaceAll(lost, "mesh: default", "mesh: nowhere")
	bad := strings.NewReplacer("lost", "bad", "numRetries", "numRetrys").Replace(stray)
	const came = "---\ntype: Mesh\nname: coming\n---\ntype: MeshRetry\nmesh: coming\nname: a\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n"
	fields := func(code int, text string) string {
		t.Helper()
		var p struct {
			Violations []inspect.Violation
		}
		if err := json.Unmarshal([]byte(text), &p); err != nil || code != http.StatusBadRequest {
			t.Fatalf("%d %s", code, text)
		}
		var all []string
		for _, v := range p.Violations {
			all = append(all, fmt.Sprintf("%s:%d %s", v.Object, v.Line, v.Field))
		}
		return strings.Join(all, ", ")
	}
	got := fields(call(t, http.MethodPost, server.URL+"/_apply", stray+"---\n"+bad+came))
	want := "MeshRetry/nowhere/lost:2 mesh, MeshRetry/nowhere/bad:7 mesh, MeshRetry/nowhere/bad:9 spec.to[0].default.http.numRetrys"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = fields(call(t, http.MethodPut, server.URL+"/meshes/nowhere/meshretries/bad", bad))
	if want := "MeshRetry/nowhere/bad:4 spec.to[0].default.http.numRetrys, MeshRetry/nowhere/bad:0 mesh"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Where an object comes from stays as it is for its life.
func TestOriginAndZoneCannotBeChanged(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, strings.Replace(lost, "name: lost\n", "name: told\nlabels: {kuma.io/origin: global, kuma.io/zone: west}\n", 1), false)
	told := strings.ReplaceAll(lost, "name: lost\n", "name: told\n%s\n")
	untold := strings.ReplaceAll(lost, "name: lost\n", "name: lost\n%s\n")
	kubernetes := "apiVersion: kuma.io/v1alpha1\nkind: MeshRetry\nmetadata: {name: lost, namespace: a, labels: {kuma.io/mesh: default%s}}\n" + lost[strings.Index(lost, "spec:"):]
	for _, text := range []string{fmt.Sprintf(untold, ""), fmt.Sprintf(kubernetes, "")} {
		apply(t, server.URL+"/_apply", text)
	}
	for _, c := range []struct{ text, labels, fields string }{
		{told, "labels: {kuma.io/origin: global, kuma.io/zone: west}", ""},
		{told, "labels: {kuma.io/origin: zone, kuma.io/zone: west}", `labels["kuma.io/origin"]`},
		{told, "", `labels["kuma.io/origin"] labels["kuma.io/zone"]`},
		{untold, "labels: {kuma.io/origin: global, kuma.io/zone: west}", `labels["kuma.io/origin"] labels["kuma.io/zone"]`},
		{untold, "labels: {kuma.io/zone: east, kuma.io/origin: zone}", ""}, // what is shown, the server's own zone
		{untold, "", ""},
		{kubernetes, ", kuma.io/zone: west", `metadata.labels["kuma.io/zone"]`},
		{kubernetes, ", kuma.io/zone: east", ""},
	} {
		text, path := fmt.Sprintf(c.text, c.labels), "/meshes/default/meshretries/lost"
		switch c.text {
		case told:
			path = "/meshes/default/meshretries/told"
		case kubernetes:
			path += "?namespace=a"
		}
		for _, q := range [][2]string{{http.MethodPost, "/_apply?dryRun=true"}, {http.MethodPost, "/_apply"}, {http.MethodPut, path}} {
			code, answer := call(t, q[0], server.URL+q[1], text)
			var p struct {
				Invalid []struct{ Field, Source string } `json:"invalid_parameters"`
			}
			if err := json.Unmarshal([]byte(answer), &p); err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, i := range p.Invalid {
				fields = append(fields, i.Field)
			}
			if got := strings.Join(fields, " "); got != c.fields || (code == http.StatusOK) != (c.fields == "") {
				t.Errorf("%s %s of\n%s%d %s", q[0], q[1], text, code, answer)
			}
		}
	}
}
