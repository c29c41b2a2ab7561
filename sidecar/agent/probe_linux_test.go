package agent_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weftmesh/weft/sidecar/probes"
)

func portOf(t *testing.T, address string) int {
	t.Helper()
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// reserved is a port at which nobody listens, and that no other test is given. A listener
// of the agent may still take it.
func reserved(t *testing.T) int {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return name.(*syscall.SockaddrInet4).Port
}

// healthServer answers for one service.
func healthServer(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := health.NewServer()
	h.SetServingStatus("shop", grpc_health_v1.HealthCheckResponse_SERVING)
	h.SetServingStatus("sick", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, h)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return portOf(t, l.Addr().String())
}

// TestProbes asks a running agent for the probes of a workload: it asks what the kubelet
// would have asked, from the address that redirection lets pass, and nothing else.
func TestProbes(t *testing.T) {
	t.Parallel()
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		switch {
		case from != "127.0.0.6":
			http.Error(w, "from "+from, http.StatusForbidden)
		case r.URL.Path == "/ready" && r.URL.RawQuery == "deep=1" && r.Host == "shop.example.org" && r.Header.Get("X-Probe") == "yes":
			fmt.Fprint(w, "secret details")
		case r.URL.Path == "/elsewhere":
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		case r.URL.Path == "/here":
			http.Redirect(w, r, "/well", http.StatusFound)
		case r.URL.Path == "/well":
		case r.URL.Path == "/slow":
			<-r.Context().Done()
		default:
			http.Error(w, "ill", http.StatusInternalServerError)
		}
	})
	plain, secure := httptest.NewServer(app), httptest.NewTLSServer(app)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	p, s, g := portOf(t, plain.URL), portOf(t, secure.URL), healthServer(t)
	ask := func(scheme string, port int, path string) probes.Probe {
		return probes.Probe{TimeoutSeconds: 20, HTTP: &probes.HTTP{Scheme: scheme, Port: port, Path: path}}
	}
	deep := ask("HTTPS", s, "/ready?deep=1")
	deep.HTTP.Headers = []probes.Header{{Name: "Host", Value: "shop.example.org"}, {Name: "X-Probe", Value: "yes"}}
	slow := ask("HTTP", p, "/slow")
	slow.TimeoutSeconds = 1
	set := map[string]probes.Probe{
		"deep/readiness": deep,
		"ill/liveness":   ask("HTTP", p, "/ill"),
		"slow/liveness":  slow,
		"away/liveness":  ask("HTTP", p, "/elsewhere"),
		"here/liveness":  ask("HTTP", p, "/here"),
		"tcp/startup":    {TimeoutSeconds: 20, TCP: &probes.TCP{Port: p}},
		"closed/startup": {TimeoutSeconds: 20, TCP: &probes.TCP{Port: reserved(t)}},
		"grpc/liveness":  {TimeoutSeconds: 20, GRPC: &probes.GRPC{Port: g, Service: "shop"}},
		"grpc/readiness": {TimeoutSeconds: 20, GRPC: &probes.GRPC{Port: g, Service: "sick"}},
		"grpc/startup":   {TimeoutSeconds: 20, GRPC: &probes.GRPC{Port: g, Service: "unknown"}},
	}
	c := config(newPlane(t, bootstrap).URL)
	c.Probes = probes.Set{Port: reserved(t), Probes: set}
	c.PodIPs = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	r := start(t, c)
	at := fmt.Sprintf("http://127.0.0.1:%d/probe/", c.Probes.Port)
	eventually(t, "the agent answers", func() bool { return r.Readiness() != "" && get(at+"deep/readiness") != "" })
	for name, want := range map[string]string{
		"deep/readiness": "200 healthy",
		"ill/liveness":   "503 the workload answers 500",
		"slow/liveness":  "503 ask the workload",
		"away/liveness":  "200 healthy",
		"here/liveness":  "200 healthy",
		"tcp/startup":    "200 healthy",
		"closed/startup": "503 connect",
		"grpc/liveness":  "200 healthy",
		"grpc/readiness": "503 the workload answers NOT_SERVING",
		"grpc/startup":   "503 ask the workload",
		"none/startup":   "404",
		"../readyz":      "404",
	} {
		resp, err := http.Get(at + name)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := fmt.Sprintf("%d %s", resp.StatusCode, text); !strings.HasPrefix(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if resp, err := http.Post(at+"deep/readiness", "", nil); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("a POST: %v %v", resp, err)
	}
}

// TestDrainByAHook is a pod that ends: what is under way is finished, the sidecar is not
// ready, outbound listeners stay, and the end comes as soon as nothing is left.
func TestDrainByAHook(t *testing.T) {
	t.Parallel()
	port, release := workload(t)
	p := newPlane(t, strings.ReplaceAll(bootstrap, "WORKLOAD", port))
	c := config(p.URL)
	c.DrainTime = 5 * time.Minute
	r := run(t, c, true)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	answer := make(chan string, 1)
	go func() { answer <- get(r.listener(t) + "/wait") }()
	eventually(t, "the request is under way", func() bool {
		return strings.Contains(get("http://"+r.Admin()+"/stats?filter=http.inbound_answers.downstream_rq_active"), "_active: 1")
	})
	post := func(origin string) int {
		req, err := http.NewRequest(http.MethodPost, "http://"+r.Readiness()+"/drain", nil)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := post("http://evil.example"); got != http.StatusForbidden || r.ready() != http.StatusOK {
		t.Errorf("a page of a browser drains: %d", got)
	}
	for range 2 { // again is as well
		if got := post(""); got != http.StatusOK {
			t.Fatalf("drain: %d", got)
		}
	}
	if got := r.ready(); got != http.StatusServiceUnavailable {
		t.Errorf("ready while draining: %d", got)
	}
	drained := "http://" + r.Readiness() + "/drained"
	if got := get(drained); !strings.Contains(got, "under way") {
		t.Errorf("drained with a request under way: %s", got)
	}
	r.stop()
	release()
	if got := <-answer; got != "hello" {
		t.Errorf("the request under way: %q", got)
	}
	if err := <-r.done; err != nil { // long before the drain time
		t.Error(err)
	}
}
