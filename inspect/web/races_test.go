package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/store"
)

// forestalled is a store into which somebody else writes between the moment in
// which a request was read and the one in which its writes are done.
type forestalled struct {
	web.Documents
	first []store.Write
}

func (f *forestalled) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	if writes := f.first; writes != nil {
		f.first = nil
		if _, _, err := f.Documents.Apply(ctx, store.Writes(writes...)); err != nil {
			return nil, nil, err
		}
	}
	return f.Documents.Apply(ctx, plan)
}

const (
	meshX  = "type: Mesh\nname: x\n"
	retryX = "type: MeshRetry\nmesh: x\nname: r\nlabels: {team: a}\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n"
)

// objects are those of a text.
func objects(t *testing.T, text string) []*api.Object {
	t.Helper()
	all, err := decode.Objects(world.Catalog(), "", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func putting(t *testing.T, text string) []store.Write {
	t.Helper()
	var writes []store.Write
	for _, o := range objects(t, text) {
		writes = append(writes, store.Write{Put: o})
	}
	return writes
}

func deleting(kind, mesh, name string) []store.Write {
	return []store.Write{{Delete: &api.Ref{Kind: kind, Mesh: mesh, Name: name}}}
}

// What a request is answered holds of the state that it changes, not of the one
// that it has read.
func TestARequestIsDecidedByWhatItChanges(t *testing.T) {
	t.Parallel()
	const path = "/meshes/x/meshretries/r"
	changed := strings.ReplaceAll(retryX, "numRetries: 1", "numRetries: 2")
	for name, c := range map[string]struct {
		docs   string
		first  []store.Write
		method string
		path   string
		body   string
		header string
		code   int
		left   string
	}{
		"put after its mesh was deleted":    {meshX, deleting("Mesh", "", "x"), http.MethodPut, path, retryX, "", 400, "Mesh/default"},
		"apply after its mesh was deleted":  {meshX, deleting("Mesh", "", "x"), http.MethodPost, "/_apply", retryX, "", 400, "Mesh/default"},
		"delete a mesh after a put into it": {meshX, putting(t, retryX), http.MethodDelete, "/meshes/x", "", "", 200, "Mesh/default"},
		"delete a mesh after a dataplane came": {meshX, putting(t, "type: Dataplane\nmesh: x\nname: d\nnetworking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}]}\n"),
			http.MethodDelete, "/meshes/x", "", "", 409, "Dataplane/x/d Mesh/default Mesh/x"},
		"prune what came meanwhile": {meshX, putting(t, retryX), http.MethodPost, "/_apply?prune=team%3Da", strings.ReplaceAll(retryX, "name: r", "name: s"), "", 200,
			"Mesh/default Mesh/x MeshRetry/x/s"},
		"put over another change":      {meshX + "---\n" + retryX, putting(t, changed), http.MethodPut, path, retryX, `If-Match: "1"`, 412, "Mesh/default Mesh/x MeshRetry/x/r"},
		"put over a deletion":          {meshX + "---\n" + retryX, deleting("MeshRetry", "x", "r"), http.MethodPut, path, retryX, `If-Match: "1"`, 412, "Mesh/default Mesh/x"},
		"delete after another change":  {meshX + "---\n" + retryX, putting(t, changed), http.MethodDelete, path, "", `If-Match: "1"`, 412, "Mesh/default Mesh/x MeshRetry/x/r"},
		"create what was created":      {meshX, putting(t, retryX), http.MethodPut, path, changed, "If-None-Match: *", 412, "Mesh/default Mesh/x MeshRetry/x/r"},
		"put over what is as it was":   {meshX + "---\n" + retryX, putting(t, retryX), http.MethodPut, path, changed, `If-Match: "1"`, 200, "Mesh/default Mesh/x MeshRetry/x/r"},
		"delete a mesh after a change": {meshX, putting(t, meshX+"skipCreatingInitialPolicies: ['*']\n"), http.MethodDelete, "/meshes/x", "", `If-Match: "1"`, 412, "Mesh/default Mesh/x"},
	} {
		var documents *forestalled
		server, _ := serveWith(t, c.docs, false, func(cfg *web.Config) {
			documents = &forestalled{cfg.Documents, c.first}
			cfg.Documents = documents
		})
		header, value, _ := strings.Cut(c.header, ": ")
		code, text := send(t, c.method, server.URL+c.path, c.body, header, value)
		var left []string
		for o := range documents.Snapshot().All() {
			left = append(left, o.Ref.String())
		}
		if got := strings.Join(left, " "); code != c.code || got != c.left {
			t.Errorf("%s: %d, left are %s; want %d and %s\n%s", name, code, got, c.code, c.left, text)
		}
	}
}

// Documents never outlive their mesh, however requests meet.
func TestNoDocumentOutlivesItsMesh(t *testing.T) {
	t.Parallel()
	var documents web.Documents
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) { documents = c.Documents })
	for range 15 {
		if code, text := call(t, http.MethodPut, server.URL+"/meshes/x", meshX); code != http.StatusCreated {
			t.Fatal(code, text)
		}
		var wait sync.WaitGroup
		for i := range 4 {
			name := fmt.Sprintf("r%d", i)
			wait.Go(func() {
				_, _ = call(t, http.MethodPut, server.URL+"/meshes/x/meshretries/"+name, strings.ReplaceAll(retryX, "name: r", "name: "+name))
			})
		}
		wait.Go(func() { _, _ = call(t, http.MethodDelete, server.URL+"/meshes/x", "") })
		wait.Wait()
		for o := range documents.Snapshot().OfKind("MeshRetry") {
			t.Fatalf("%s is left", o.Ref)
		}
	}
}

// Who reads, changes and writes back under If-Match loses nobody's step.
func TestConditionalWritesAllCount(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, meshX+"---\n"+retryX, false)
	const writers, each = 4, 10
	const path = "/meshes/x/meshretries/r"
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			for done := 0; done < each; {
				text, tag := read(t, server.URL+path+"?format=written")
				var n int
				at := strings.Index(text, `"numRetries":`)
				if _, err := fmt.Sscanf(text[at:], `"numRetries":%d`, &n); err != nil {
					t.Error(err)
					return
				}
				next := strings.Replace(text, fmt.Sprintf(`"numRetries":%d`, n), fmt.Sprintf(`"numRetries":%d`, n+1), 1)
				switch code, answer := send(t, http.MethodPut, server.URL+path, next, "If-Match", tag); code {
				case http.StatusOK:
					done++
				case http.StatusPreconditionFailed:
				default:
					t.Errorf("%d %s", code, answer)
					return
				}
			}
		})
	}
	wait.Wait()
	if text, _ := read(t, server.URL+path); !strings.Contains(text, fmt.Sprintf(`"numRetries":%d`, writers*each+1)) {
		t.Errorf("%d steps, but %s", writers*each, text)
	}
}

// The entity tag of what was read from an API server is its version there.
func TestEntityTagsAreVersionsAtTheAPIServer(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, meshX, false, func(c *web.Config) {
		now, ref := c.Documents.Snapshot(), api.Ref{Kind: api.KindMesh, Name: "x"}
		o, _ := now.Get(ref)
		stored := *o
		stored.ResourceVersion = "4711"
		c.Documents.(compiled).Publish(map[api.Ref]*api.Object{ref: &stored}, nil)
	})
	if _, tag := read(t, server.URL+"/meshes/x"); tag != `"4711"` {
		t.Errorf("of an object of version 4711: %s", tag)
	}
	if _, tag := read(t, server.URL+"/meshes/default"); tag != `"1"` {
		t.Errorf("of an object of revision 1: %s", tag)
	}
	for tag, want := range map[string]int{`"4711"`: http.StatusOK, `"1"`: http.StatusPreconditionFailed} {
		if code, text := send(t, http.MethodDelete, server.URL+"/meshes/x?dryRun=true", "", "If-Match", tag); code != want {
			t.Errorf("If-Match: %s: %d %s", tag, code, text)
		}
	}
}

// read is a document and its entity tag.
func read(t *testing.T, url string) (text, tag string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b strings.Builder
	if err := resp.Write(&b); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return body, resp.Header.Get("ETag")
}
