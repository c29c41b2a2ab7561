package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

const (
	retryOf3   = "type: MeshRetry\nmesh: default\nname: mr\nspec:\n  to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]\n"
	serviceWeb = "type: MeshService\nmesh: %s\nname: web\nspec: {ports: [{port: 80}]}\n"
)

type listed struct {
	Items []struct {
		Revision uint64
		User     string
		Client   string
		Objects  []struct{ Object, Action string }
	}
	Next string
}

// stored sends documents, one apply each.
func stored(t *testing.T, url string, docs ...string) {
	t.Helper()
	for _, d := range docs {
		if code, text := send(t, http.MethodPost, url+"/_apply", d, "User-Agent", "kumactl/2"); code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
	}
}

func TestHistoryIsReadPageByPage(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	for i := range 5 {
		stored(t, server.URL, strings.Replace(retryOf3, "3", fmt.Sprint(i+1), 1), strings.Replace(fmt.Sprintf(serviceWeb, "default"), "80", fmt.Sprint(80+i), 1))
	}
	var seen []string
	for next := server.URL + "/_history?object=mr/mr&size=2&since=2"; next != ""; {
		code, text := call(t, http.MethodGet, next, "")
		var page listed
		if err := json.Unmarshal([]byte(text), &page); err != nil || code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
		if len(page.Items) == 0 {
			t.Error("a page leads to one on which nothing is")
		}
		for _, i := range page.Items {
			seen = append(seen, fmt.Sprint(i.Revision, " ", i.Objects))
		}
		next = page.Next
	}
	if want := "[10 [{MeshRetry/default/mr updated}] 8 [{MeshRetry/default/mr updated}] 6 [{MeshRetry/default/mr updated}] 4 [{MeshRetry/default/mr updated}]]"; fmt.Sprint(seen) != want {
		t.Errorf("seen %s, want %s", seen, want)
	}
	for object, want := range map[string]int{"MeshService/web": 5, "MeshService/default/web": 5, "MeshService/other/web": 0, "MeshService/web.shop": 0} {
		var page listed
		if _, text := call(t, http.MethodGet, server.URL+"/_history?object="+object, ""); json.Unmarshal([]byte(text), &page) != nil || len(page.Items) != want {
			t.Errorf("of %s: %s", object, text)
		}
	}
}

// meddled are documents of which another changes while somebody reads them, once.
type meddled struct {
	web.Documents
	once *sync.Once
	put  *api.Object
}

func (d meddled) Model(ctx context.Context) (*resolve.Model, error) {
	m, err := d.Documents.Model(ctx)
	d.once.Do(func() { _, _, err = d.Apply(ctx, store.Writes(store.Write{Put: d.put})) })
	return m, err
}

// What is written while a way back is sought is taken back too.
func TestARollbackSeesWhatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	list, _ := world.Decode("", []byte(strings.Replace(retryOf3, "name: mr", "name: meanwhile", 1)))
	once := new(sync.Once)
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) { c.Documents = meddled{c.Documents, once, list[0]} })
	if code, text := call(t, http.MethodPost, server.URL+"/_rollback?to=1", ""); code != http.StatusOK || !strings.Contains(text, `"revision":3`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := call(t, http.MethodGet, server.URL+"/meshes/default/meshretries/meanwhile", ""); code != http.StatusNotFound {
		t.Errorf("what was written meanwhile: %d %s", code, text)
	}
}

// A way back passes what every write passes, and leaves what sidecars brought along.
func TestARollbackIsAnApply(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	stored(t, server.URL, retryOf3, "type: Mesh\nname: other\n---\n"+fmt.Sprintf(serviceWeb, "other"))
	if code, text := call(t, http.MethodDelete, server.URL+"/meshes/other", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	for _, c := range []struct {
		method, path string
		code         int
		says         string
	}{
		{"POST", "/_rollback?to=3&dryRun=true", 200, `"action":"create"`},
		{"GET", "/meshes/other", 404, ""},
		{"POST", "/_rollback?to=3", 200, `"revision":5,"results":[{"object":"Mesh/other","action":"created"},{"object":"MeshService/other/web","action":"created"}]`},
		{"GET", "/meshes/other/meshservices/web", 200, ""},
		{"POST", "/_rollback?to=1", 200, `"results":[{"object":"Mesh/other","action":"deleted"},{"object":"MeshRetry/default/mr","action":"deleted"},{"object":"MeshService/other/web","action":"deleted"}]`},
		{"POST", "/_rollback?to=1", 200, `"revision":6,"results":[]`},
		{"GET", "/_diff?from=1&to=6", 200, `"changes":[]`},
		{"GET", "/_diff?from=2", 200, `{"object":"MeshRetry/default/mr","action":"delete"}`},
		{"POST", "/_rollback?to=0", 200, `{"object":"Mesh/default","action":"deleted"}`},
		{"POST", "/_rollback", 400, "give the revision"},
		{"POST", "/_rollback?to=-1", 400, "write a whole number from 0"},
		{"POST", "/_rollback?to=1&dryrun=true", 400, "unknown parameter"},
		{"POST", "/_rollback?to=1&include=diff", 400, "give dryRun=true with it"},
		{"POST", "/_rollback?to=99", 404, "the latest is 7"},
		{"GET", "/_diff", 400, "give the revision"},
		{"GET", "/_diff?from=99", 404, "the latest is 7"},
		{"GET", "/_diff?from=1&to=x", 400, "write a whole number from 0"},
		{"GET", "/_history?object=web", 400, "write KIND/NAME"},
		{"GET", "/_history?object=Nothing/web", 400, "write KIND/NAME"},
		{"GET", "/_history?size=0", 400, "size"},
		{"GET", "/_history?since=x", 400, "write a whole number from 0"},
	} {
		if code, text := call(t, c.method, server.URL+c.path, ""); code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, text)
		}
	}
}

// A way back that would leave a sidecar without its mesh is refused as a whole; else what
// sidecars brought along stays.
func TestARollbackLeavesSidecarsAlone(t *testing.T) {
	t.Parallel()
	var documents web.Documents
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) { documents = c.Documents })
	stored(t, server.URL, "type: Mesh\nname: other\n", fmt.Sprintf(serviceWeb, "other"))
	list, _ := world.Decode("", []byte("type: Dataplane\nmesh: other\nname: vm\nnetworking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: web}}]}\n"))
	list[0].Owner = api.Ephemeral
	if _, _, err := documents.Apply(t.Context(), store.Writes(store.Write{Put: list[0]})); err != nil {
		t.Fatal(err)
	}
	if code, text := call(t, http.MethodPost, server.URL+"/_rollback?to=1", ""); code != http.StatusBadRequest || !strings.Contains(text, "mesh other is to go and still has documents, such as Dataplane/other/vm") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := call(t, http.MethodPost, server.URL+"/_rollback?to=2", ""); code != http.StatusOK || !strings.Contains(text, `"results":[{"object":"MeshService/other/web","action":"deleted"}]`) {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := call(t, http.MethodGet, server.URL+"/meshes/other/dataplanes/vm", ""); code != http.StatusOK {
		t.Errorf("the sidecar's Dataplane: %d", code)
	}
}

// What weft has made of an authority stays when others go back, and goes with its mesh.
func TestARollbackTakesWhatWasMadeWithItsMesh(t *testing.T) {
	t.Parallel()
	var documents web.Documents
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) { documents = c.Documents })
	stored(t, server.URL, "type: Mesh\nname: other\n")
	for _, mesh := range []string{"default", "other"} {
		trust := &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: mesh, Name: "made"}, Labels: map[string]string{api.LabelMadeBy: api.MadeByAuthority}, Spec: &api.MeshTrust{TrustDomain: mesh}}
		if _, _, err := documents.Apply(t.Context(), store.Writes(store.Write{Put: trust})); err != nil {
			t.Fatal(err)
		}
	}
	code, text := call(t, http.MethodPost, server.URL+"/_rollback?to=1", "")
	if code != http.StatusOK || !strings.Contains(text, "MeshTrust/other/made") || strings.Contains(text, "MeshTrust/default/made") {
		t.Errorf("%d %s", code, text)
	}
}

func TestAStoreWithoutHistorySaysSo(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) { c.History = nil })
	for method, path := range map[string]string{"GET": "/_history", "POST": "/_rollback?to=1"} {
		if code, text := call(t, method, server.URL+path, ""); code != http.StatusNotFound || !strings.Contains(text, "keeps no revisions") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
}
