package stores_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// emptyCluster is an API server that serves whatever it is asked for, has nothing at first, and lets everybody do all:
// enough to hold elections and Secrets.
type emptyCluster struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string]any // by path
	changed chan struct{}             // closed when one is another
}

// start is a kubeconfig file for an empty cluster.
func start(t *testing.T) string {
	t.Helper()
	c := &emptyCluster{version: 1, objects: map[string]map[string]any{}, changed: make(chan struct{})}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"` + s.URL + `"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (c *emptyCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch q := r.URL.Query(); {
	case r.URL.Path == "/apis":
		answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}})
	case q.Get("watch") != "":
		c.watch(w, r)
	case r.Method == http.MethodPost || r.Method == http.MethodPut:
		c.write(w, r)
	default:
		c.read(w, r)
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// read answers with an object, or with a list where the path is that of a collection.
func (c *emptyCluster) read(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.objects[r.URL.Path]; o != nil {
		answer(w, http.StatusOK, o)
		return
	}
	if strings.HasSuffix(path.Dir(r.URL.Path), "/leases") {
		answer(w, http.StatusNotFound, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound})
		return
	}
	answer(w, http.StatusOK, map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": strconv.Itoa(c.version)}, "items": []any{}})
}

// write keeps an object.
func (c *emptyCluster) write(w http.ResponseWriter, r *http.Request) {
	var o map[string]any
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		answer(w, http.StatusBadRequest, nil)
		return
	}
	metadata, _ := o["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	at := r.URL.Path
	if r.Method == http.MethodPost {
		at = path.Join(at, name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	metadata["resourceVersion"] = strconv.Itoa(c.version)
	c.objects[at] = o
	close(c.changed)
	c.changed = make(chan struct{})
	answer(w, http.StatusOK, o)
}

// watch tells of the one object that the field selector names, and of no other.
func (c *emptyCluster) watch(w http.ResponseWriter, r *http.Request) {
	event := func(kind string, o any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": o})
		_ = http.NewResponseController(w).Flush()
	}
	name := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	told := ""
	for first := true; ; first = false {
		c.mu.Lock()
		o, changed, version := c.objects[path.Join(r.URL.Path, name)], c.changed, strconv.Itoa(c.version)
		c.mu.Unlock()
		if text, _ := json.Marshal(o); o != nil && string(text) != told {
			told = string(text)
			event("ADDED", o)
		}
		if first {
			event("BOOKMARK", map[string]any{"kind": "Bookmark", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": version, "annotations": map[string]any{"k8s.io/initial-events-end": "true"}}})
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
