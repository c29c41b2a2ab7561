package server_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// strictHop is a hop whose server takes nothing but mutual TLS.
func strictHop(t *testing.T, app uint32, more ...*api.Object) *hop {
	t.Helper()
	h := startHop(t, syncstatus.Delta, app)
	h.put(append([]*api.Object{mtlsMesh(t, "STRICT"), h.by.trust(), heard("server", true, true), heard("front", true, false)}, more...)...)
	h.both()
	return h
}

// dialAs is a connection to a port as somebody of the mesh.
func (h *hop) dialAs(port uint32, config *tls.Config, names ...string) (*tls.Conn, error) {
	config = config.Clone()
	config.InsecureSkipVerify, config.NextProtos, config.Certificates = true, []string{"weft"}, []tls.Certificate{h.by.leaf(names...)}
	return tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), config)
}

// TestSessionsAreNotResumed: who comes again proves again who it is, by either version
// (spec/identity.md 0, F4; threat I4).
func TestSessionsAreNotResumed(t *testing.T) {
	t.Parallel()
	h := strictHop(t, envoytest.StartBackend(t, "app").Port)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := &tls.Config{MinVersion: version, MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(8), ServerName: "again"}
		for range 3 {
			c, err := h.dialAs(h.inWeb, config, "spiffe://default/front")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: web\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil) // tickets come before it
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%x: %v, %v", version, resp, err)
			}
			_ = resp.Body.Close()
			if c.ConnectionState().DidResume {
				t.Errorf("%x: a session was resumed", version)
			}
			_ = c.Close()
		}
	}
}

// TestConnectionsAreBounded: no connection outlives its certificate by long, of requests and
// of bytes (spec/identity.md 0, F4; threat I4).
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	h := startHop(t, syncstatus.Delta, envoytest.StartBackend(t, "app").Port)
	short := mtlsMesh(t, "STRICT")
	short.Spec.(*api.Mesh).MTLS.Backends[0].DPCert = map[string]any{"rotation": map[string]any{"expiration": "4s"}} // decoding would refuse it
	h.put(short, h.by.trust(), heard("server", true, true), heard("front", true, false))
	h.both()
	for _, port := range []uint32{h.inWeb, h.inBytes} {
		c, err := h.dialAs(port, &tls.Config{}, "spiffe://default/front")
		if err != nil {
			t.Fatal(err)
		}
		r, n := bufio.NewReader(c), 0
		for deadline := time.Now().Add(patience); ; n++ {
			if time.Now().After(deadline) {
				t.Fatal("the connection lives on")
			}
			if _, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: web\r\n\r\n"); err != nil {
				break
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				break
			}
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.Close {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if _ = c.Close(); n == 0 {
			t.Error("it did not even begin")
		}
	}
}

// TestServerSpeaksFirst: who says nothing gets what the workload says, although the listener
// would look for TLS (spec/identity.md 0, F9).
func TestServerSpeaksFirst(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello\n") // who has gone hears nothing
		}
	}()
	h := startHop(t, syncstatus.Delta, uint32(l.Addr().(*net.TCPAddr).Port))
	h.put(mtlsMesh(t, "PERMISSIVE"), h.by.trust(), heard("server", true, true), heard("front", true, false))
	h.both()
	for what, port := range map[string]uint32{"plain": h.inBytes, "by the mesh": h.bytes} {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if line, err := bufio.NewReader(c).ReadString('\n'); line != "hello\n" {
			t.Errorf("%s: %q, %v", what, line, err)
		}
		_ = c.Close()
	}
	if h.handshakes() == 0 {
		t.Error("the mesh called in plain text")
	}
}

// TestOnlyTheDestinationAnswers: who shows another name than those of the destination's
// dataplanes gets nothing, unless the control plane knows that it does, as while names change
// (threat I6).
func TestOnlyTheDestinationAnswers(t *testing.T) {
	t.Parallel()
	h := startHop(t, syncstatus.Delta, envoytest.StartBackend(t, "app").Port)
	h.by.as["server"] = []string{"spiffe://default/web-evil"}
	h.put(mtlsMesh(t, "STRICT"), h.by.trust(), heard("server", true, true), heard("front", true, false))
	h.both()
	if status, _, err := fetch(client(t), h.web); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("another name: status %d, %v", status, err)
	}
	known := heard("server", true, true)
	known.Spec.(*api.DataplaneInsight).Shows = h.by.as["server"]
	h.put(known)
	h.both()
	r, _ := h.model.Dataplane(dataplaneRef("front"))
	if !slices.Contains(r.Clusters[0].TLS.Names, "spiffe://default/web-evil") {
		t.Fatalf("expected are %v", r.Clusters[0].TLS.Names)
	}
	h.front.Until("accepts the name that is known", func() bool {
		status, _, err := fetch(client(t), h.web)
		return err == nil && status == 200
	})
}
