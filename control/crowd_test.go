package control_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOneReaderShutsNobodyOut: a reader opens as many streams of events as the API
// has connections, and leaves them; administrators and probes are answered within a second, most of the time:
// a busy machine may keep one of them waiting.
func TestOneReaderShutsNobodyOut(t *testing.T) {
	p := start(t, guarded(t))
	defer p.stop()
	reader := p.want(http.StatusOK, http.MethodPost, "/tokens/user", `{"name":"reader","validFor":"1h"}`)
	served := 0
	for range 1024 {
		conn, err := net.Dial("tcp", p.API())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(conn, "GET /_events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", strings.TrimSpace(reader))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && resp.StatusCode == http.StatusOK {
			served++
		}
	}
	if served == 0 || served > 32 {
		t.Errorf("one reader has %d streams", served)
	}
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	for _, q := range []struct{ method, path, token, body string }{
		{http.MethodGet, "/readyz", "", ""},
		{http.MethodGet, "/meshes", p.token, ""},
		{http.MethodPut, "/meshes/default/meshretries/crowd", p.token, `{"type":"MeshRetry","mesh":"default","name":"crowd","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":%d}}}]}}`},
	} {
		took := make([]time.Duration, 9)
		for i := range took {
			took[i] = answeredIn(t, fresh, q.method, "http://"+p.API()+q.path, q.token, strings.Replace(q.body, "%d", strconv.Itoa(i+1), 1))
		}
		slices.Sort(took)
		if took[len(took)/2] > time.Second {
			t.Errorf("%s %s takes %v", q.method, q.path, took)
		}
	}
}

// answeredIn is how long a request takes, by a connection of its own, that succeeds.
func answeredIn(t *testing.T, by *http.Client, method, url, token, body string) time.Duration {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	begin := time.Now()
	resp, err := by.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		t.Errorf("%s %s: %s %s, %v", method, url, resp.Status, text, err)
	}
	return time.Since(begin)
}
