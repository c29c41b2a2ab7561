package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/web"
)

// TestABrokenBatchIsAnsweredInBounds: also where an administrator sends it. It tells of a thousand
// mistakes, and that there are more.
func TestABrokenBatchIsAnsweredInBounds(t *testing.T) {
	server, _ := serve(t, "", false)
	const size = 9 << 20
	fill := func(document string, between string) string {
		return strings.TrimSuffix(strings.Repeat(document+between, size/len(document+between)), between)
	}
	for what, body := range map[string]string{
		"documents of no kind":      fill("a: 1\n", "---\n"),
		"JSON of no kind":           "[" + fill("{}", ",") + "]",
		"JSON documents in a row":   fill("{}", "\n"),
		"documents without a mesh":  manyRetries(size, "none"),
		"fields that nobody knows":  fill("type: MeshRetry\nname: a\nmesh: default\nspec: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1}\n", "---\n"),
		"JSON without a mesh":       fill(`{"type":"MeshRetry","name":"a","mesh":"none","spec":{"targetRef":{"kind":"Mesh"}}}`, "\n"),
		"a list without a mesh":     "[" + fill(`{"type":"MeshRetry","name":"a","mesh":"none","spec":{"targetRef":{"kind":"Mesh"}}}`, ",") + "]",
		"some bring another mesh":   manyRetries(size-1000, "none") + "---\ntype: Mesh\nname: other\n",
		"sound but for the zone":    strings.ReplaceAll(manyRetries(size, "default"), "spec:", "labels: {kuma.io/zone: \"a b\"}\nspec:"),
		"documents that are no map": fill("a\n", "---\n"),
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		begin := time.Now()
		code, text := call(t, http.MethodPost, server.URL+"/_apply", body)
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		var told struct {
			Violations []struct{ Message string }
		}
		if err := json.Unmarshal([]byte(text), &told); err != nil || code != http.StatusBadRequest {
			t.Fatalf("%s: %d, %v, %.200s", what, code, err, text)
		}
		if n := len(told.Violations); n < 1000 || n > 1002 || !strings.Contains(told.Violations[n-1].Message, "more") {
			t.Errorf("%s: %d mistakes, the last is %v", what, n, told.Violations[n-1])
		}
		if len(text) > 4<<20 || took > 20*time.Second {
			t.Errorf("%s: %d bytes in %v", what, len(text), took)
		}
		if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 200 {
			t.Errorf("%s: %d MiB", what, allocated)
		}
		t.Logf("%s: %d bytes in %v, %d MiB allocated", what, len(text), took, (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}

// manyRetries are sound documents of a mesh.
func manyRetries(size int, mesh string) string {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "---\ntype: MeshRetry\nname: a%d\nmesh: %s\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n", i, mesh)
	}
	return b.String()
}

// TestWorkEndsWithItsRequest: who has gone is not worked for.
func TestWorkEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	var handler http.Handler
	serveWith(t, "", false, func(c *web.Config) { handler = web.New(*c) })
	ctx, leave := context.WithCancelCause(t.Context())
	leave(errors.New("gone"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/_apply", strings.NewReader(manyRetries(1<<20, "default")))
	if err != nil {
		t.Fatal(err)
	}
	answer := &recorded{header: http.Header{}}
	handler.ServeHTTP(answer, req)
	if answer.code != http.StatusServiceUnavailable {
		t.Errorf("answered %d", answer.code)
	}
}

type recorded struct {
	header http.Header
	code   int
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) Write(b []byte) (int, error) { return len(b), nil }
func (r *recorded) WriteHeader(code int)        { r.code = code }
