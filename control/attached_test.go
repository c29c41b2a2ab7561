package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
	"github.com/weftmesh/weft/sidecar/attach"
)

// TestUsersAskTheEnvoysOfSidecars: a real Envoy answers through its agent, over TLS and
// with a token that nobody gets to see; one whose agent has no stream is told of by what
// it was sent.
func TestUsersAskTheEnvoysOfSidecars(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.AdminAuth, c.DataplaneAuth, c.XDSPlaintext = "token", "token", false
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	const dp = "/meshes/default/dataplanes/frontend-1"
	if text := p.want(http.StatusServiceUnavailable, http.MethodGet, dp+"/stats", ""); !strings.Contains(text, "the sidecar's agent opens no stream") {
		t.Errorf("stats of a sidecar that is away: %s", text)
	}
	p.want(http.StatusServiceUnavailable, http.MethodGet, dp+"/xds", "")
	p.want(http.StatusNotFound, http.MethodGet, "/meshes/default/dataplanes/nobody/stats", "")

	token := p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"frontend-1","validFor":"1h"}`)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := agent.Default()
	conf.XDS, conf.Name, conf.TokenFile, conf.CAFile = "https://"+p.XDS(), "frontend-1", file, filepath.Join(c.DataDir, "ca.pem")
	conf.Envoy, conf.DrainTime = envoytest.Path(t), 0
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.New(conf, discard()).Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	eventually(t, "the agent answers", func() bool {
		code, text := p.call(http.MethodGet, dp+"/clusters", "")
		return code == http.StatusOK && strings.Contains(text, "backend")
	})
	for path, want := range map[string]string{"/stats": "control_plane.connected_state: 1", "/stats?format=json": `"stats"`,
		"/clusters?format=json": `"cluster_statuses"`, "/xds": "BootstrapConfigDump"} {
		text := p.want(http.StatusOK, http.MethodGet, dp+path, "")
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %s:\n%.2000s", path, want, text)
		}
		if strings.Contains(text, token) {
			t.Errorf("%s shows the token", path)
		}
	}
	p.want(http.StatusBadRequest, http.MethodGet, dp+"/stats?format=xml", "")
}

// TestASidecarWithoutAnAgentIsToldOfByWhatItWasSent is kuma-dp, or an old agent.
func TestASidecarWithoutAnAgentIsToldOfByWhatItWasSent(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	leave := p.connect("frontend-1")
	defer leave()
	const dp = "/meshes/default/dataplanes/frontend-1"
	var dump struct {
		Weft    map[string]string
		Configs []map[string]any
	}
	eventually(t, "it was sent its clusters", func() bool {
		code, text := p.call(http.MethodGet, dp+"/xds", "")
		return code == http.StatusOK && json.Unmarshal([]byte(text), &dump) == nil && dump.Configs[0]["dynamic_active_clusters"] != nil
	})
	if dump.Weft["source"] != "sent" || len(dump.Configs) != 5 {
		t.Errorf("marked %v, with %d parts", dump.Weft, len(dump.Configs))
	}
	p.want(http.StatusServiceUnavailable, http.MethodGet, dp+"/stats", "")
}

// TestAnAgentIsWhoItsTokenSays: nothing is said to anybody else.
func TestAnAgentIsWhoItsTokenSays(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.AdminAuth, c.DataplaneAuth = "token", "token"
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	token := func(name string) string {
		return p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"`+name+`","validFor":"1h"}`)
	}
	conn, err := grpc.NewClient(p.XDS(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, x := range []struct {
		token, node string
		want        codes.Code
	}{
		{"", "default.frontend-1", codes.Unauthenticated},
		{"nonsense", "default.frontend-1", codes.Unauthenticated},
		{token("backend-1"), "default.frontend-1", codes.PermissionDenied},
		{token("frontend-1"), "frontend-1", codes.InvalidArgument},
		{token("frontend-1"), "", codes.InvalidArgument},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+x.token)
		g, err := attach.NewSidecarClient(conn).Attach(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = g.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: x.node, Names: true}}}) // Recv says why
		if down, err := g.Recv(); status.Code(err) != x.want {
			t.Errorf("%s: %v %v, want %v", x.node, down, err, x.want)
		}
	}
}

// TestNamesOfTheMeshResolveBesideAWorkload: a resolver of a real agent answers for a
// service with a virtual address, and hears of another service as it is written.
func TestNamesOfTheMeshResolveBesideAWorkload(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	service := func(of, name, vip string) string {
		return `{"type":"MeshService","mesh":"default","name":"` + of + `","spec":{"selector":{"dataplaneTags":{"app":"web"}},"ports":[{"port":80,"appProtocol":"http"}]},
			"status":{"addresses":[{"hostname":"` + name + `"}],"vips":[{"ip":"` + vip + `"}]}}`
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", service("web", "Web.internal.mesh.local", "241.0.0.7"))
	p.want(http.StatusOK, http.MethodPost, "/_apply", `{"type":"Dataplane","mesh":"default","name":"app-1","networking":{"address":"127.0.0.1",
		"transparentProxying":{"redirectPortInbound":15006,"redirectPortOutbound":15001},"inbound":[{"port":9090,"tags":{"kuma.io/service":"app"}}]}}`)
	conf := agent.Default()
	conf.XDS, conf.Name, conf.Envoy, conf.DrainTime, conf.DNS = "http://"+p.XDS(), "app-1", envoytest.Path(t), 0, "127.0.0.1:0"
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var said atomic.Int32 // that it goes without names
	a := agent.New(conf, slog.New(slog.NewTextHandler(writer(func(line []byte) {
		if bytes.Contains(line, []byte("ready without the names")) {
			said.Add(1)
		}
	}), nil)))
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	resolves := func(name, vip string) func() bool {
		return func() bool {
			at := a.Resolver()
			if at == "" {
				return false
			}
			answer, _, err := (&dns.Client{Net: "tcp", Timeout: time.Minute}).Exchange(new(dns.Msg).SetQuestion(name, dns.TypeA), at)
			return err == nil && len(answer.Answer) == 1 && strings.HasSuffix(answer.Answer[0].String(), "\t"+vip)
		}
	}
	eventually(t, "it is ready", func() bool {
		answer, err := http.Get("http://" + a.Readiness() + "/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	if !resolves("web.mesh.", "241.0.0.7")() && said.Load() == 0 {
		t.Error("it is ready before it has names, and does not say so")
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", `{"type":"HostnameGenerator","name":"g","spec":{"selector":{"meshService":{}},"template":"{{ .DisplayName }}.svc.mesh.local"}}`)
	p.want(http.StatusOK, http.MethodPost, "/_apply", `{"type":"Dataplane","mesh":"default","name":"app-2","networking":{"address":"127.0.0.2",
		"transparentProxying":{"redirectPortInbound":15006,"redirectPortOutbound":15001}}}`)
	eventually(t, "the name of its generator", resolves("web.svc.mesh.local.", "241.0.0.7"))
	if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshservices/web", ""); !strings.Contains(text, "1 of 2 dataplanes resolve it") {
		t.Errorf("where the name resolves: %s", text)
	}
	eventually(t, "the name of its status", resolves("web.internal.mesh.local.", "241.0.0.7"))
	eventually(t, "its name in the mesh", resolves("WEB.mesh.", "241.0.0.7"))
	p.want(http.StatusOK, http.MethodPost, "/_apply", service("other", "other.mesh.local", "241.0.0.8"))
	eventually(t, "that of another service", resolves("other.mesh.local.", "241.0.0.8"))
}

// writer is told each line of a log.
type writer func([]byte)

// Write is one line.
func (w writer) Write(line []byte) (int, error) { w(line); return len(line), nil }
