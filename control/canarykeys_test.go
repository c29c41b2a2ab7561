package control_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/certs"
)

// listened are all bytes that a sidecar gets by ADS.
func (p *plane) listened(name, token string) func() string {
	p.t.Helper()
	s, end := p.stream(name, token)
	p.t.Cleanup(end)
	for kind, names := range map[string][]string{"config.listener.v3.Listener": {"*"}, "config.route.v3.RouteConfiguration": {"*"}, "config.endpoint.v3.ClusterLoadAssignment": {"*"},
		"extensions.transport_sockets.tls.v3.Secret": {trustOfServers, trustOfClients, "identity_cert:secret:default", "default.ca-builtin-key-ca-1", "k"}} {
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/envoy." + kind, ResourceNamesSubscribe: names}); err != nil {
			p.t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var all bytes.Buffer
	go func() {
		for {
			r, err := s.Recv()
			if err != nil {
				return // the test has ended
			}
			raw, err := proto.Marshal(r)
			if err != nil {
				return
			}
			mu.Lock()
			all.Write(raw)
			mu.Unlock()
			if s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}) != nil {
				return
			}
		}
	}()
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// TestNoOutputHoldsAKey (I10): neither the key of an authority, be it made or brought, nor that of a
// workload stands in anything that a control plane answers, sends to a sidecar, tells who follows
// events, writes into a log or onto the disk.
func TestNoOutputHoldsAKey(t *testing.T) {
	t.Parallel()
	var log journal
	p := secure(t, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer p.stop()
	events := p.followed(t)
	certificate, key := kumaRoot(t)
	web, pay := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
	backends := "{name: ca-1, type: builtin, mode: PERMISSIVE}, {name: p, type: provided, conf: {cert: {secret: c}, key: {secret: k}}}"
	documents := allowed + meshSecretText("c", certificate) + meshSecretText("k", key) + web.document + pay.document + memberDocument("ear-1", "ear")
	p.want(http.StatusOK, http.MethodPost, "/_apply", documents+fmt.Sprintf(mutual, "ca-1", backends))
	heard := p.listened("ear-1", p.dataplaneToken("ear-1", ""))
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
	p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
	p.know(map[string]member{"web": web, "payments": pay})
	own := p.signs(p.dataplaneToken("ear-1", ""), "ear-1")
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "p", backends)) // the other signs
	made, ok := snapshot.MeshSecretIn(p.Snapshot(), "default", "default.ca-builtin-key-ca-1", nil)
	if !ok {
		t.Fatal("there is no key to look for")
	}
	said := map[string]string{}
	ask := func(method, path, body string) {
		_, said[method+" "+path] = p.call(method, path, body)
	}
	for _, path := range []string{"/_problems", "/config", "/metrics", "/_history", "/_history?size=100", "/_diff?from=1", "/meshes/default/secrets", "/secrets", "/meshes", "/meshes/default", "/meshes/default?format=written",
		"/meshes/default/secrets/k", "/meshes/default/secrets/k?format=written", "/meshes/default/secrets/k?format=kubernetes", "/meshes/default/secrets/default.ca-builtin-key-ca-1", "/meshes/default/secrets/default.ca-rotation",
		"/meshes/default/meshtrusts/mtls-default", "/meshes/default/_authorities", "/meshes/default/_mtls", "/meshes/default/_status", "/meshes/default/_sidecars", "/meshes/default/_permissions", "/meshes/default/_overview",
		"/meshes/default/dataplanes/web-1/_explain", "/meshes/default/dataplanes/web-1/_config", "/meshes/default/dataplanes/web-1/xds", "/meshes/default/dataplanes/web-1/stats", "/meshes/default/dataplanes/web-1/clusters",
		"/meshes/default/dataplanes/web-1/_overview", "/global-insight", "/mesh-insights/default"} {
		ask(http.MethodGet, path, "")
	}
	ask(http.MethodPost, "/_apply?dryRun=true", meshSecretText("k", made))
	ask(http.MethodPost, "/_rollback?to=1&dryRun=true", "")
	ask(http.MethodPost, "/meshes/default/_authorities/rotate", `{"dryRun":true}`)
	ask(http.MethodPost, "/_apply", strings.Replace(meshSecretText("k", key), "data: ", "data: ?", 1)) // a refusal
	said["another sidecar's stream"] = heard()
	said["events"] = events()
	if said["another sidecar's stream"] == "" || said["events"] == "" || !strings.Contains(said["GET /meshes/default/dataplanes/web-1/xds"], "identity_cert:secret:default") {
		t.Errorf("not everything was heard: %d bytes of a stream, events %q", len(said["another sidecar's stream"]), said["events"])
	}
	p.stop()
	said["the log"] = log.String()
	for name, text := range files(t, p.dir) {
		said["file "+name] = string(text)
	}
	number, err := own.key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]map[string][]byte{"a key that weft made": certs.Forms(made), "a key that people brought": certs.Forms(key), "a workload's key": {"number": number}}
	for where, text := range said {
		for whose, all := range keys {
			for form, part := range all {
				if bytes.Contains([]byte(text), part) {
					t.Errorf("%s holds %s, as %s", where, whose, form)
				}
			}
		}
	}
}

// followed are all events from now on.
func (p *plane) followed(t *testing.T) func() string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.API()+"/_events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var heard journal
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&heard, resp.Body) // until the test has heard enough
	}()
	t.Cleanup(stop)
	return func() string {
		stop()
		<-done
		_ = resp.Body.Close()
		return heard.String()
	}
}
