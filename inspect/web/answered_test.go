package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/web"
)

// TestAnswersAreTold: each answer is told once, with its route and the status that the client got. What ended
// without an answer is an error of the server, whoever asked for it.
func TestAnswersAreTold(t *testing.T) {
	t.Parallel()
	var told []string
	var handler http.Handler
	serveWith(t, "type: Mesh\nname: default\n", false, func(o *web.Config) {
		o.Answered = func(route string, status int, _ time.Duration) { told = append(told, fmt.Sprint(route, " ", status)) }
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Header.Get("Answer") {
			case "text":
				_, _ = w.Write([]byte("# none\n"))
			case "status":
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusTeapot)
				w.WriteHeader(http.StatusOK) // which is too late
			case "cut off":
				panic(http.ErrAbortHandler)
			case "bug":
				panic("planted")
			}
		})
		handler = web.New(*o)
	})
	ask := func(path, answer string) {
		defer func() { _ = recover() }() // what the server of a connection does
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Answer", answer)
		if answer == "a page of somebody else" {
			r.Header.Set("Origin", "http://elsewhere.example")
		}
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	for _, c := range []struct{ path, answer, want string }{
		{"/metrics", "text", "GET /metrics 200"}, {"/metrics", "status", "GET /metrics 418"}, {"/metrics", "bug", "GET /metrics 500"},
		{"/metrics", "cut off", "GET /metrics 500"}, {"/metrics", "none", "GET /metrics 500"}, {"/nosuch/path/at/all", "", "unknown 404"},
		{"/metrics", "a page of somebody else", "refused 403"},
	} {
		told = nil
		if ask(c.path, c.answer); len(told) != 1 || told[0] != c.want {
			t.Errorf("GET %s, answered by %q: told is %q, not %q", c.path, c.answer, told, c.want)
		}
	}
}
