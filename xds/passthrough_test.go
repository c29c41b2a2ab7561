package xds_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	proxyprotocolv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/resource"
)

// redirected is a sidecar behind redirection whose workload has own for its address, and
// which reaches web as the host shop.test at port.
func redirected(own string, port, in, out, web uint32) *effective.Resolved {
	t := table()
	t.Destination = &effective.Destination{ID: fmt.Sprintf("host_shop.test:%d", port), Kind: api.KindHost, Name: "shop.test", Port: port, Protocol: api.HTTP}
	r := sidecar([]*effective.Table{t}, []effective.ClusterUse{use("web:8080", t.Destination, effective.Endpoint{Address: "127.0.0.1", Port: web})})
	o := r.Outbounds[0]
	o.Address, o.Port, o.Passthrough = "0.0.0.0", port, true
	*r.Dataplane.Spec.(*api.Dataplane).Networking = api.Networking{
		Address: own, TransparentProxying: &api.TransparentProxying{RedirectPortInbound: in, RedirectPortOutbound: out},
	}
	return r
}

// believing makes the listeners where redirected traffic arrives believe a client that
// says where it was going: so no test needs the rules of a kernel.
func believing(t *testing.T, s *resource.State) *resource.State {
	t.Helper()
	out := *s
	out.Listeners = slices.Clone(s.Listeners)
	for i, r := range out.Listeners {
		if !strings.HasSuffix(r.Name, ":passthrough:ipv4") {
			continue
		}
		l := envoytest.Listener(t, r)
		l.ListenerFilters = append(l.ListenerFilters, &listenerv3.ListenerFilter{
			Name: "envoy.filters.listener.proxy_protocol", ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: envoy.Pack(&proxyprotocolv3.ProxyProtocol{})},
		})
		packed, err := anypb.New(l)
		if err != nil {
			t.Fatal(err)
		}
		out.Listeners[i] = r.With(packed)
	}
	return &out
}

// goingTo is a connection that was going to an address when it was redirected to a port.
func goingTo(t *testing.T, redirect uint32, address string, port uint32) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", redirect))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "PROXY TCP4 127.0.9.9 %s 9999 %d\r\n", address, port)
	return conn
}

// server says greeting, if it has one, when a client comes, and then hears.
type server struct{ heard chan string }

func listen(t *testing.T, address string, port uint32, greeting, answer string) *server {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &server{heard: make(chan string, 16)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn, greeting, answer)
		}
	}()
	return s
}

// serve hears until a line that is empty but for its end, or the last byte.
func (s *server) serve(conn net.Conn, greeting, answer string) {
	defer conn.Close()
	_, _ = io.WriteString(conn, greeting)
	var all strings.Builder
	for b := make([]byte, 1); !strings.HasSuffix(all.String(), "\r\n\r\n"); {
		if _, err := conn.Read(b); err != nil {
			break
		}
		all.Write(b)
	}
	s.heard <- all.String()
	_, _ = io.WriteString(conn, answer)
}

func (s *server) hears(t *testing.T, what, want string) {
	t.Helper()
	select {
	case got := <-s.heard:
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	case <-time.After(20 * time.Second):
		t.Errorf("%s: nobody heard it", what)
	}
}

// answered closes the connection and says so, lest the next request goes into the closed one.
const answered = "HTTP/1.1 200 OK\r\nServer: Theirs\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"

// TestWhatIsForNoHostPassesThrough: behind redirection requests for hosts that routes
// serve go by those, wherever they were going; all else arrives there as it was sent.
func TestWhatIsForNoHostPassesThrough(t *testing.T) {
	t.Parallel()
	const own, theirs, greets = "127.0.7.1", "127.0.7.2", "127.0.7.3"
	port, in, out := envoytest.Port(t), envoytest.Port(t), envoytest.Port(t)
	web := envoytest.StartBackend(t, "web")
	stranger, greeter, workload := listen(t, theirs, port, "", answered), listen(t, greets, port, "220 ready\r\n", ""), listen(t, own, port, "", answered)
	r := redirected(own, port, in, out, web.Port)
	envoytest.Drive(t, believing(t, renderer().Render(r)))

	conn := goingTo(t, out, theirs, port)
	fmt.Fprintf(conn, "GET //a%%2Fb/../c HTTP/1.1\r\nHost: shop.test:81\r\n%s: 1\r\n\r\n", envoytest.IDHeader)
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != 200 {
		t.Errorf("a host of a route: %v %v", resp, err)
	}
	if seen := web.Seen("1"); len(seen) != 1 || seen[0].Path != "//a%2Fb/../c" {
		t.Errorf("a host of a route: its backend saw %+v", seen)
	}

	conn = goingTo(t, out, theirs, port)
	fmt.Fprintf(conn, "GET //a%%2Fb/../c?d=/../ HTTP/1.1\r\nHost: other.test\r\nX-MiXed: v\r\nX-Request-Id: 1\r\nX-Forwarded-Proto: http\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Server") != "Theirs" {
		t.Errorf("another host: %v %v", resp, err)
	}
	stranger.hears(t, "another host", "GET //a%2Fb/../c?d=/../ HTTP/1.1\r\nHost: other.test\r\nX-MiXed: v\r\nX-Request-Id: 1\r\nX-Forwarded-Proto: http\r\n\r\n")

	conn = goingTo(t, out, theirs, port)
	fmt.Fprintf(conn, "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\nX-Request-Id: 1\r\nX-Forwarded-Proto: http\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect}); err != nil {
		t.Errorf("a tunnel: %v", err)
	} else if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(resp.Body)
		t.Errorf("a tunnel: %s %s", resp.Status, why)
	}
	stranger.hears(t, "a tunnel", "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\nX-Request-Id: 1\r\nX-Forwarded-Proto: http\r\n\r\n")

	for _, bytes := range []string{"\x00\x01\xff//a%2Fb\r\n\r\n", "GET //a%2Fb HTTP/1.0\r\nhost: shop.test\r\n\r\n", "\x16\x03\x01\x00\r\n\r\n"} {
		_, _ = io.WriteString(goingTo(t, out, theirs, port), bytes)
		stranger.hears(t, "no request of HTTP/1.1", bytes)
	}

	conn = goingTo(t, out, greets, port)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "220 ready\r\n" {
		t.Errorf("a server that speaks first: %q %v", line, err)
	}
	const after = "GET / HTTP/1.1\r\nhost: shop.test\r\n\r\n"
	_, _ = io.WriteString(conn, after)
	greeter.hears(t, "after the server", after)

	_, _ = io.WriteString(goingTo(t, in, own, port), after)
	workload.hears(t, "a call of others", after)
}
