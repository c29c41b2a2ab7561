package accesslog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/accesslog"
	"github.com/weftmesh/weft/policies/accesslog/format"
	lines "github.com/weftmesh/weft/sidecar/accesslog"
	"github.com/weftmesh/weft/sidecar/loglines"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// receiver takes lines by TCP.
type receiver struct {
	address string
	mu      sync.Mutex
	text    []byte
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &receiver{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for b := make([]byte, 4096); ; {
					n, err := conn.Read(b)
					r.mu.Lock()
					r.text = append(r.text, b[:n]...)
					r.mu.Unlock()
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	return r
}

func (r *receiver) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.text)
}

// withAgent is a state with the cluster that a bootstrap has, which leads to who sends lines on.
func withAgent(t *testing.T, s *resource.State, f *loglines.Forwarder) *resource.State {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() { _ = lines.Serve(ctx, l, func(g *grpc.Server) { f.Register(g) }) }() // it ends when the test does
	go f.Run(ctx)
	port := l.Addr().(*net.TCPAddr).Port
	out := *s
	out.Clusters = append(slices.Clone(s.Clusters), resource.New(naming.SidecarCluster, &clusterv3.Cluster{
		Name: naming.SidecarCluster, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment:                envoy.Assignment(naming.SidecarCluster, envoy.OneHost("127.0.0.1", uint32(port))),
		TypedExtensionProtocolOptions: envoy.ProtocolOptions(&upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP2Upstream(nil)}),
	}))
	return &out
}

// everyCommand is a JSON format with each command that says the same of a request in each log, in parts.
func everyCommand(omits bool) (out []accesslog.Format) {
	const most = 128
	for _, name := range format.Names() {
		for _, form := range []string{"%&%", "%&(x-a)%", "%&(ROUTE:weft:origins)%", "%&(xds.node)%", "%&(NUMBER)%", "%&(DS_RX_BEG:DS_RX_END)%", "%&(page)%", "a %&% b", "a %&(x-none)% b"} {
			text := strings.ReplaceAll(form, "&", name)
			if _, err := format.Parse(text); err != nil || strings.Contains(name, "EMIT_TIME") || name == "UNIQUE_ID" { // which differ in each log
				continue
			}
			if n := len(out); n == 0 || len(out[n-1].JSON) == most {
				out = append(out, accesslog.Format{Type: "Json", OmitEmptyValues: &omits})
			}
			last := &out[len(out)-1]
			last.JSON = append(last.JSON, accesslog.KeyValue{Key: text, Value: text})
		}
	}
	return out
}

// TestForwardedLines: what receivers of TCP and files have is what Envoy itself writes in the same format: of
// each command, with its type, and where it finds nothing.
func TestForwardedLines(t *testing.T) {
	t.Parallel()
	formats := append(everyCommand(false), everyCommand(true)...)
	for _, omits := range []bool{false, true} {
		for _, text := range []string{"%KUMA_MESH% 100%% %REQ(x-none)%|%RESPONSE_CODE% %REQ(:PATH)% \"%REQ(x-a)%\"", "a\nb %KUMA_SOURCE_SERVICE%\n"} {
			formats = append(formats, accesslog.Format{Type: "Plain", OmitEmptyValues: &omits, Plain: &text})
		}
	}
	for i := range formats {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			compareLines(t, &formats[i])
		})
	}
}

// compareLines sends one request that is logged in three ways.
func compareLines(t *testing.T, x *accesslog.Format) {
	s, tcp, dir := newScene(t), startReceiver(t), t.TempDir()
	backends, err := json.Marshal([]accesslog.Backend{
		{Type: "File", File: &accesslog.File{Path: "/dev/stdout", Format: x}},
		{Type: "File", File: &accesslog.File{Path: "/var/log/weft/calls.log", Format: x}},
		{Type: "Tcp", TCP: &accesslog.TCP{Address: tcp.address, Format: x}},
	})
	if err != nil {
		t.Fatal(err)
	}
	policy := fmt.Sprintf("\n---\n"+`{"type": "MeshAccessLog", "mesh": "default", "name": "all", "spec": {"to": [{"targetRef": {"kind": "Mesh"}, "default": {"backends": %s}}]}}`, backends)
	f := loglines.New(dir, slog.New(slog.DiscardHandler))
	e := envoytest.Drive(t, withAgent(t, s.render(policy), f))
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/a?page=2", s.web), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-a", `quoted "a" \ <&>`)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	var text string
	e.Until("the lines are there", func() bool {
		all, err := os.ReadFile(filepath.Join(dir, "calls.log"))
		text = string(all)
		return err == nil && strings.HasSuffix(text, "\n") && strings.Count(tcp.got(), "\n") == strings.Count(text, "\n") && strings.Contains(e.Output(), "\n")
	})
	want := decoded(t, e.Output())
	for name, got := range map[string]string{"tcp": tcp.got(), "file": text} {
		if diff := cmp.Diff(want, decoded(t, got)); diff != "" {
			t.Errorf("%s: -Envoy +agent\n%s", name, diff)
		}
	}
	if n := f.Dropped(); n != 0 {
		t.Errorf("%d lines are lost", n)
	}
}

// decoded is a line, of JSON as its value.
func decoded(t *testing.T, line string) any {
	line = strings.TrimSuffix(line, "\n")
	if !strings.HasPrefix(line, "{") {
		return line
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(line), &out); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return out
}
