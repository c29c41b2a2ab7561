package web_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/web"
)

// TestOneReaderCannotHaveAllStreams: of many streams of one reader few are served; another
// reader and administrators are answered as ever, and a stream that ends makes room.
func TestOneReaderCannotHaveAllStreams(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, "", false, func(c *web.Config) { c.Admin, c.Tokens = "admin", readers{} })
	ask := func(ctx context.Context, token, path string) *http.Response {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	greedy, stop := context.WithCancel(t.Context())
	served := 0
	for range 100 {
		resp := ask(greedy, "greedy", "/_events")
		if resp.StatusCode == http.StatusOK {
			served++
		} else if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
			t.Fatalf("answered %d, to be tried again after %q", resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
	if served != 32 {
		t.Errorf("one reader has %d streams", served)
	}
	others, leave := context.WithTimeout(t.Context(), 60*time.Second)
	defer leave()
	for who, path := range map[string]string{"modest": "/_events", "admin": "/_events", "greedy": "/meshes"} {
		if resp := ask(others, who, path); resp.StatusCode != http.StatusOK {
			t.Errorf("%s of %s: %d", path, who, resp.StatusCode)
		}
	}
	stop()
	for others.Err() == nil {
		if ask(others, "greedy", "/_events").StatusCode == http.StatusOK {
			return
		}
	}
	t.Error("streams that have ended take places")
}

// readers are users that are called like their tokens.
type readers struct{ noTokens }

func (readers) WhoIs(token string) (string, []string, error) { return token, nil, nil }
