package web_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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

// TestReadyThoughNothingIsWritten: a control plane whose store takes no writes is ready, for it serves all else,
// and says what is amiss; whoever wants to write is told that it is not.
func TestReadyThoughNothingIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ready, writes error
		query, want   string
	}{
		{nil, nil, "", "200 ok\n"}, {nil, nil, "?for=writes", "200 ok\n"},
		{nil, errors.New("the disk is full"), "", "200 degraded: the disk is full\n"},
		{nil, errors.New("the disk is full"), "?for=writes", "503 "},
		{errors.New("it is stopping"), nil, "", "503 "}, {nil, nil, "?for=tea", "400 "},
	} {
		server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(o *web.Config) {
			o.Ready, o.Writes = func() error { return c.ready }, func() error { return c.writes }
		})
		code, text := call(t, http.MethodGet, server.URL+"/readyz"+c.query, "")
		if got := fmt.Sprint(code, " ", text); !strings.HasPrefix(got, c.want) || code == http.StatusServiceUnavailable && !strings.Contains(text, fmt.Sprint(cmp.Or(c.ready, c.writes))) {
			t.Errorf("ready: %v, writes: %v, %q: %s", c.ready, c.writes, c.query, got)
		}
	}
}
