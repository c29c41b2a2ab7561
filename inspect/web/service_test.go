package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/store"
)

// A path that is there answers other methods with those that it has.
func TestMethodsThatAPathDoesNotHave(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	for request, want := range map[string]string{ // the methods that are allowed; none for 404
		"PUT /healthz":                           "GET, HEAD",
		"DELETE /metrics":                        "GET, HEAD",
		"PATCH /meshes/default":                  "GET, HEAD, PUT, DELETE",
		"POST /meshes/default/meshretries":       "GET, HEAD",
		"POST /meshes/default/meshretries/x":     "GET, HEAD, PUT, DELETE",
		"POST /hostnamegenerators/x":             "GET, HEAD, PUT, DELETE",
		"DELETE /meshes/default/_status":         "GET, HEAD",
		"GET /_apply":                            "POST",
		"GET /tokens/dataplane":                  "POST",
		"PATCH /things":                          "",
		"PATCH /meshes/default/things/x":         "",
		"PATCH /a/b/c/d/e/f/g":                   "",
		"GET /things/x":                          "",
		"GET /dataplanes/x":                      "",
		"GET /meshes/default/hostnamegenerators": "",
	} {
		method, path, _ := strings.Cut(request, " ")
		req, err := http.NewRequest(method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		status := http.StatusMethodNotAllowed
		if want == "" {
			status = http.StatusNotFound
		}
		if got := resp.Header.Get("Allow"); resp.StatusCode != status || got != want || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d, allowed are %q, want %d %q", request, resp.StatusCode, got, status, want)
		}
	}
}

// Clients do not offer to write where nothing can be written.
func TestReadOnlyTypesSaySo(t *testing.T) {
	t.Parallel()
	for _, readOnly := range []bool{false, true} {
		server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) { c.ReadOnly = readOnly })
		for _, path := range []string{"/_resources", "/policies"} {
			_, text := call(t, http.MethodGet, server.URL+path, "")
			if yes, no := strings.Contains(text, `"readOnly":true`), strings.Contains(text, `"readOnly":false`); yes != readOnly || no == readOnly {
				t.Errorf("%s where writes are refused %v: %s", path, readOnly, text)
			}
		}
	}
}

// TestKindsSayWhatTheyExplain: the fields that are behind how requests end are those by which single
// requests are explained.
func TestKindsSayWhatTheyExplain(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(*web.Config) {})
	_, text := call(t, http.MethodGet, server.URL+"/_resources", "")
	if want := `"explains":{"rate limit":["local.http.requestRate"]}`; strings.Count(text, want) != 1 {
		t.Errorf("%s is not once in %s", want, text)
	}
}

// elsewhere is a store whose documents are written elsewhere.
type elsewhere struct {
	web.Documents
	refuses error
}

func (e elsewhere) Apply(context.Context, store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	return nil, nil, e.refuses
}

// Who deletes where nothing can be written is told where to do it; what it would change is
// planned all the same.
func TestReadOnlyStoresSayWhereDocumentsAreWritten(t *testing.T) {
	t.Parallel()
	for _, refuses := range []error{store.ErrDirectory, store.ErrKubernetes} {
		server, _ := serveWith(t, meshX, false, func(c *web.Config) { c.ReadOnly, c.Documents = true, elsewhere{c.Documents, refuses} })
		for _, write := range []string{"DELETE /meshes/x", "POST /_rollback?to=1"} {
			method, path, _ := strings.Cut(write, " ")
			if code, text := call(t, method, server.URL+path, ""); code != http.StatusMethodNotAllowed || !strings.Contains(text, refuses.Error()) {
				t.Errorf("%s, where a write is answered %v: %d %s", write, refuses, code, text)
			}
		}
		if code, text := call(t, http.MethodDelete, server.URL+"/meshes/x?dryRun=true", ""); code != http.StatusOK || !strings.Contains(text, `{"object":"Mesh/x","action":"delete"}`) {
			t.Errorf("a dry run: %d %s", code, text)
		}
		if code, text := call(t, http.MethodGet, server.URL+"/meshes/x", ""); code != http.StatusOK {
			t.Errorf("after a dry run: %d %s", code, text)
		}
	}
}

func TestNamesOfTypesForPeople(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) {
		more := api.Type{Name: "MeshGateway", Plural: "meshgateways", Short: "mgw", New: func() api.Spec { return new(api.Mesh) }}
		if _, has := c.Catalog.Type(more.Name); !has {
			c.Catalog = api.NewCatalog(append(c.Catalog.Types(), more)...)
		}
	})
	_, text := call(t, http.MethodGet, server.URL+"/_resources", "")
	var got struct {
		Resources []struct{ Name, PluralDisplayName string }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, r := range got.Resources {
		names[r.Name] = r.PluralDisplayName
	}
	for name, want := range map[string]string{"MeshGateway": "Mesh Gateways", "MeshRetry": "Mesh Retries", "Mesh": "Meshes", "MeshService": "Mesh Services",
		"MeshHTTPRoute": "Mesh HTTPRoutes"} { // what is written in capitals is one word
		if names[name] != want {
			t.Errorf("%s are called %q", name, names[name])
		}
	}
}

// TestASimulationsMistakesComeTogether: what cannot be read, and what is wrong with the rest.
func TestASimulationsMistakesComeTogether(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Dataplane\nmesh: default\nname: f\nnetworking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: f}}]}\n", false)
	_, text := call(t, http.MethodPost, server.URL+"/meshes/default/dataplanes/f/_simulate", `{"url":"http://web:0/\"","answers":"1,200,never","draw":"x","version":"3","headers":{"a b":"c"}}`)
	var p struct {
		Invalid []struct{ Field, Reason string } `json:"invalid_parameters"`
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, x := range p.Invalid {
		fields = append(fields, x.Field)
	}
	if want := []string{"draw", "url", "headers", "version", "answers", "answers"}; !slices.Equal(fields, want) {
		t.Errorf("told of %q, want %q: %s", fields, want, text)
	}
}

// Small bodies are read as strictly as documents, and a refusal names the field.
func TestBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Dataplane\nmesh: default\nname: f\nnetworking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: f}}]}\n", false)
	const simulate = "/meshes/default/dataplanes/f/_simulate"
	for _, c := range []struct {
		path, body string
		status     int
		field      string
	}{
		{simulate, `{"url":"http://web/","hedaers":{"x":"1"}}`, 400, "hedaers"},
		{simulate, `{"url":"http://web/","headers":{"x y":"1"}}`, 400, "headers"},
		{simulate, `{"url":"http://web/","headers":{"x":"\u0000"}}`, 400, "headers.x"},
		{simulate, `{"url":"ftp://web/"}`, 400, "url"},
		{simulate, `{"url":"http://web/"}`, 400, "url"},
		{simulate, `{"url":"http://web/","draw":1000000}`, 400, "draw"},
		{simulate, `{"url":"http://web/","draw":0.5}`, 400, "draw"},
		{simulate, `{"url":"http://web/","claims":{"iss":1}}`, 400, "claims"},
		{simulate, `{"url":"http://web/","version":"3"}`, 400, "version"},
		{simulate, `{"url":"http://web/","body":-1}`, 400, "body"},
		{simulate, `{"url":"http://web/"} {}`, 400, ""},
		{"/tokens/user", `{"name":"a","validFor":"1h","groups":["x"]}`, 200, ""},
		{"/tokens/dataplane", `{"name":"a","validFor":"1h","tags":"x"}`, 400, "tags"},
		{"/tokens/revoke", `{"ids":[]}`, 400, "ids"},
		{"/tokens/revoke", `{"ids":["bad"]}`, 400, "ids"},
		{"/tokens/revoke", `{"id":["a"]}`, 400, "id"},
		{"/tokens/revoke", `{"ids":["a"]}`, 200, ""},
		{"/tokens/dataplane", `{"name":"a","validFor":"1h","type":"ingress"}`, 400, "type"},
		{"/tokens/dataplane", `{"name":"a","mesh":"m","validFor":"1h","type":"dataplane","tags":{}}`, 200, ""},
		{"/tokens/dataplane", `{"name":"a","validFor":"1h"} x`, 400, ""},
		{"/tokens/zone", `{"zone":"a"}`, 501, ""},
	} {
		code, text := call(t, http.MethodPost, server.URL+c.path, c.body)
		var p struct {
			Detail  string
			Invalid []struct{ Field, Reason string } `json:"invalid_parameters"`
		}
		if code != http.StatusOK {
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
		}
		fields := ""
		if len(p.Invalid) > 0 {
			fields = p.Invalid[0].Field
		}
		if code != c.status || fields != c.field || slices.Contains([]string{"url", "headers"}, strings.SplitN(p.Detail, ":", 2)[0]) {
			t.Errorf("%s %s: %d %s", c.path, c.body, code, text)
		}
	}
}

// Who asks for a mesh that is not there learns which there are.
func TestStatusOfAnUnknownMeshNamesTheNearest(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	code, text := call(t, http.MethodGet, server.URL+"/meshes/defalt/_status", "")
	if code != http.StatusNotFound || !strings.Contains(text, "mesh defalt: not found; did you mean default?") {
		t.Errorf("%d %s", code, text)
	}
}

// What clients of other versions say beside what weft knows is left out, with a
// warning; Kuma's own say a workload and tags that are empty.
func TestTokensAreIssuedToClientsOfOtherVersions(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	for _, c := range []struct{ path, body, want, warning string }{
		{"/tokens/dataplane", `{"name":"a","mesh":"m","tags":{},"type":"dataplane","workload":"","validFor":"24h0m0s"}`, "m a 24h0m0s", ""},
		{"/tokens/dataplane", `{"name":"a","tags":{"":["x"],"b":[""],"c":["1",""]},"workload":"w","validFor":"1h"}`, "default a 1h0m0s map[c:[1]] w", ""},
		{"/tokens/dataplane", `{"name":"a","validFor":"1h","mush":"m"}`, "default a 1h0m0s", `299 weft "unknown field mush is ignored"`},
		{"/tokens/user", `{"name":"a","validFor":"1h","gruops":["x"]}`, "a [] 1h0m0s", `299 weft "unknown field gruops is ignored"`},
	} {
		resp, err := http.Post(server.URL+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(text) != c.want || resp.Header.Get("Warning") != c.warning {
			t.Errorf("%s: %d %q, warning %q, %v", c.body, resp.StatusCode, text, resp.Header.Get("Warning"), err)
		}
	}
}

// Kuma's clients ask for lists of kinds that weft has not, and get none; to
// write one says what `weft apply` says. GET / answers as they want.
func TestKindsThatOnlyKumaHas(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) { c.KumaCompat = true })
	for _, path := range []string{"/zones", "/zones/_overview", "/zoneingresses/_overview", "/zoneegresses", "/meshes/default/secrets", "/secrets",
		"/meshes/default/external-services", "/meshes/default/meshidentities", "/meshes/default/meshtrusts", "/meshes/default/traffic-permissions"} {
		if code, text := call(t, http.MethodGet, server.URL+path, ""); code != http.StatusOK || strings.TrimSpace(text) != `{"total":0,"items":[],"next":null}` {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	for path, want := range map[string]int{"/meshes/none/secrets": 404, "/meshes/default/zones": 404, "/zones/a": 404, "/meshes/default/secrets/a": 404, "/nonsense": 404} {
		if code, text := call(t, http.MethodGet, server.URL+path, ""); code != want {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	code, text := call(t, http.MethodPut, server.URL+"/meshes/default/meshpassthroughs/a", `{"type":"MeshPassthrough"}`)
	if code != http.StatusBadRequest || !strings.Contains(text, "weft has no MeshPassthrough, so it would have no effect; remove the document") {
		t.Errorf("%d %s", code, text)
	}
	code, text = call(t, http.MethodGet, server.URL+"/", "")
	var about struct {
		Product, Version, BasedOnKuma string
		Weft                          struct{ Version string }
	}
	if err := json.Unmarshal([]byte(text), &about); err != nil || code != http.StatusOK {
		t.Fatal(code, err)
	}
	if about.Product != "Kuma" || !strings.HasPrefix(about.Version, "2.13.") || about.BasedOnKuma != about.Version || about.Weft.Version != "1.2.3" {
		t.Errorf("GET / says %+v", about)
	}
}

// A service whose newer text is refused shows that beside the status that it
// has, as one document.
func TestAStatusAndConditionsAreOneStatus(t *testing.T) {
	t.Parallel()
	const service = "type: MeshService\nmesh: default\nname: web\nspec:\n  ports: [{port: 80}]\nstatus:\n  vips: [{ip: 241.0.0.1}]\n"
	server, _ := serveWith(t, service, false, func(c *web.Config) {
		c.Problems = func() []*api.Violation {
			return []*api.Violation{{Object: api.Ref{Kind: api.KindMeshService, Mesh: "default", Name: "web"}, Code: "Invalid", Message: "no port", Severity: api.Error}}
		}
	})
	code, text := call(t, http.MethodGet, server.URL+"/meshes/default/meshservices/web", "")
	var got struct {
		Name   string
		Status struct {
			VIPs       []struct{ IP string }
			Conditions []struct{ Reason, Message string }
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK {
		t.Fatalf("%d, %v: %s", code, err, text)
	}
	if got.Name != "web" || len(got.Status.VIPs) != 2 || got.Status.VIPs[0].IP != "241.0.0.1" ||
		len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Reason != "Invalid" || !strings.HasPrefix(got.Status.Conditions[0].Message, "no port") {
		t.Errorf("%s", text)
	}
	if strings.Count(text, `"status":`) != 3 { // its own, that of the condition, and that of TLS
		t.Errorf("more than one status: %s", text)
	}
}
