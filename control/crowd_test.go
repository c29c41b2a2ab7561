package control_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestOneReaderShutsNobodyOut (finding 132): a reader opens as many streams of events as the API
// has connections, and leaves them; administrators and probes are answered as ever.
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
	for _, path := range []string{"/readyz", "/meshes"} {
		req, err := http.NewRequest(http.MethodGet, "http://"+p.API()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+p.token)
		begin := time.Now()
		resp, err := fresh.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
		t.Logf("%s took %v", path, time.Since(begin))
	}
}
