package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web"
)

const three = `type: Dataplane
mesh: default
name: backend-1
networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: backend}}]}
---
type: Dataplane
mesh: default
name: frontend-1
networking: {address: 10.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: frontend}}]}
---
type: Dataplane
mesh: default
name: web-1
networking: {address: 10.0.0.3, inbound: [{port: 80, tags: {kuma.io/service: web}}]}
`

// A list of dataplanes in short says how far each follows, and is cut by state.
func TestSidecarsInShort(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, three, false)
	for query, want := range map[string][]string{
		"":                                     {`"total":3`, `"name":"backend-1","services":["backend"],"state":"refusing"`, `"message":"lds: no room"`, `"version":"envoy 1.40.0"`, `"missing":1`, `"in sync":1`},
		"?state=in+sync":                       {`"total":1`, `"refusing":1`, `"name":"frontend-1"`},
		"?name=end-1&size=1":                   {`"total":2`, `offset=1`},
		"?tag=kuma.io/service:web":             {`"total":1`, `"name":"web-1"`},
		"?state=refusing&state=missing":        {`"total":2`, `"name":"backend-1"`, `"name":"web-1"`},
		"?state=missing&state=refusing&size=1": {`"total":2`, `"name":"backend-1"`, `offset=1`},
		"?state=missing&state=in+sync&state=missing":   {`"total":2`, `"name":"frontend-1"`, `"name":"web-1"`},
		"?state=missing&state=refusing&name=web":       {`"total":1`, `"name":"web-1"`, `"missing":1`},
		"?state=missing&state=in+sync&size=1&offset=1": {`"total":2`, `"name":"web-1"`},
		"?state=missing&state=gone":                    {`"field":"state"`, "is not possible; use refusing"},
		"?state=gone":                                  {`"field":"state"`, "is not possible; use refusing"},
		"?state=missing&offset=9223372036854775807":    {`"total":1`, `"items":[]`, `"next":null`},
		"?state=missing&name=-1":                       {`"total":1`, `"refusing":1`, `"in sync":1`},
		"?state=missing&name=nothing":                  {`"total":0`, `"items":[]`},
	} {
		_, body := call(t, http.MethodGet, s.URL+"/meshes/default/_sidecars"+query, "")
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s: no %s in %s", query, w, body)
			}
		}
	}
}

// away are a sidecar that is held, and one that was connected and is not.
type away struct{ twoSidecars }

func (away) Sidecars() []inspect.Sidecar {
	return []inspect.Sidecar{
		{Dataplane: ref("backend-1"), Connected: true, Acked: 3, Note: "its certificate is not signed"},
		{Dataplane: ref("frontend-1"), Acked: 4, Published: 5},
	}
}

func (s away) Sidecar(dp api.Ref) (inspect.Sidecar, bool) { return inspect.Listed(s.Sidecars())(dp) }

// What keeps a sidecar from its configuration is said of it, and of one that is not connected that
// it is not, with what it had.
func TestSidecarsThatDoNotFollow(t *testing.T) {
	t.Parallel()
	const nameless = "---\ntype: Dataplane\nmesh: default\nname: nameless\nnetworking: {address: 10.0.0.4, inbound: [{port: 80}]}\n"
	s, _ := serveWith(t, three+nameless, false, func(c *web.Config) { c.Sidecars = away{} })
	for path, want := range map[string]string{
		"_sidecars":                      `"name":"backend-1","services":["backend"],"state":"held","acked":3,"message":"its certificate is not signed"`,
		"_sidecars?state=held":           `"total":1`,
		"_sidecars?name=nameless":        `"services":[]`,
		"dataplanes/frontend-1/_explain": `"acked":4,"connected":false`,
		"dataplanes/backend-1/_explain":  `"acked":3,"connected":true`,
	} {
		if _, text := call(t, http.MethodGet, s.URL+"/meshes/default/"+path, ""); !strings.Contains(text, want) {
			t.Errorf("%s: no %s in %s", path, want, text)
		}
	}
}

// The pages hold no data and need no token; nothing beside them is open for that.
func TestPagesNeedNoToken(t *testing.T) {
	t.Parallel()
	s, _ := serveWith(t, three, false, func(c *web.Config) { c.Admin = "secret" })
	for path, want := range map[string]int{"/gui": 200, "/gui/": 200, "/gui/meshes/default/plan": 200, "/gui/icon.svg": 200,
		"/guide": 401, "/meshes": 401} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Path = path
		r, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("GET %s: %d, wanted %d", path, r.StatusCode, want)
		}
	}
}
