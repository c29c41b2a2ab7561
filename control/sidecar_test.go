package control_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/xds/bootstrap"
)

const guest = `type: Dataplane
mesh: default
name: guest-1
networking:
  address: 127.0.0.9
  inbound: [{port: 8080, tags: {kuma.io/service: guest, kuma.io/protocol: http}}]
`

// ask sends a bootstrap request.
func (p *plane) ask(client *http.Client, url, token string, body map[string]any) (int, string) {
	p.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, url+"/bootstrap", strings.NewReader(string(text)))
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func TestBootstrapOverTLSProvesBothSides(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.AdminAuth, c.DataplaneAuth, c.XDSPlaintext = "token", "token", false
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	token := func(name string) string {
		return p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"`+name+`","validFor":"1h"}`)
	}
	authority, err := os.ReadFile(filepath.Join(c.DataDir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	url := "https://" + p.XDS()
	ask := map[string]any{"mesh": "default", "name": "frontend-1", "proxyType": "dataplane"}

	code, text := p.ask(client, url, token("frontend-1"), ask)
	if code != http.StatusOK || !strings.Contains(text, `"default.frontend-1"`) || !strings.Contains(text, "re2.max_program_size.error_level") || !strings.Contains(text, "BEGIN CERTIFICATE") {
		t.Errorf("%d %s", code, text)
	}
	ask["tokenPath"] = "/run/token.json"
	if code, text := p.ask(client, url, token("frontend-1"), ask); code != http.StatusOK || strings.Contains(text, "Bearer ") || !strings.Contains(text, "/run/token.json") {
		t.Errorf("a sidecar that keeps its token in a file: %d %s", code, text)
	}
	ask["features"], ask["readinessPort"], ask["workdir"], ask["adminPort"] = []string{"feature-a"}, 9902, "/run/dp", 9901
	_, text = p.ask(client, url, token("frontend-1"), ask)
	for _, want := range []string{`"feature-a"`, `"dataplane.readinessPort":"9902"`, `"workdir":"/run/dp"`, `"dataplane.admin.port":"9901"`} {
		if !strings.Contains(strings.ReplaceAll(text, `": `, `":`), want) {
			t.Errorf("the node does not say %s: %s", want, text)
		}
	}
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"no token":             {"", 401},
		"nonsense":             {"nonsense", 401},
		"another's token":      {token("backend-1"), 403},
		"the administrator's":  {p.token, 401},
		"an unknown dataplane": {token("none"), 403},
	} {
		if code, text := p.ask(client, url, c.token, ask); code != c.want || strings.Contains(text, "static_resources") {
			t.Errorf("%s: %d, want %d: %s", name, code, c.want, text)
		}
	}
	ask["name"] = "none"
	if code, text := p.ask(client, url, token("none"), ask); code != http.StatusNotFound || !strings.Contains(text, "--dataplane-file") {
		t.Errorf("a dataplane that is not there: %d %s", code, text)
	}
	if _, err := http.Get(url + "/bootstrap"); err == nil {
		t.Error("a client that does not know the authority got an answer")
	}
}

func TestADataplaneThatItsSidecarBroughtGoesWithIt(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.DeregisterAfter = 50 * time.Millisecond
	p := start(t, c)
	url := "http://" + p.XDS()
	ask := map[string]any{"mesh": "default", "name": "guest-1", "dataplaneResource": guest}
	if code, text := p.ask(http.DefaultClient, url, "", ask); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	if got := names(get[list](p, "/dataplanes")); got != "guest-1" {
		t.Fatalf("dataplanes are %q", got)
	}
	bad := map[string]any{"mesh": "default", "name": "guest-1", "dataplaneResource": strings.ReplaceAll(guest, "port: 8080", "port: many")}
	if code, text := p.ask(http.DefaultClient, url, "", bad); code != http.StatusBadRequest || !strings.Contains(text, "networking.inbound[0].port") {
		t.Errorf("a bad document: %d %s", code, text)
	}
	first := p.connect("guest-1")
	second := p.connect("guest-1") // a restarted Envoy overlaps with its predecessor
	first()
	eventually(t, "the first stream is gone", func() bool {
		return strings.Contains(p.want(http.StatusOK, http.MethodGet, "/metrics", ""), `weft_streams{protocol="delta"} 1`)
	})
	if got := get[list](p, "/dataplanes").Total; got != 1 {
		t.Error("it went while a sidecar was connected")
	}
	second()
	eventually(t, "it goes", func() bool { return get[list](p, "/dataplanes").Total == 0 })
}

func TestADataplaneOfTheStoreStays(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.DeregisterAfter = time.Millisecond
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", guest)
	ask := map[string]any{"mesh": "default", "name": "guest-1", "dataplaneResource": guest}
	if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), "", ask); code != http.StatusOK {
		t.Fatalf("the same document again: %d %s", code, text)
	}
	ask["dataplaneResource"] = strings.ReplaceAll(guest, "8080", "8081")
	if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), "", ask); code != http.StatusConflict {
		t.Errorf("another document: %d %s", code, text)
	}
	p.connect("guest-1")()
	eventually(t, "the stream is gone", func() bool {
		return strings.Contains(p.want(http.StatusOK, http.MethodGet, "/metrics", ""), `weft_streams{protocol="delta"} 0`)
	})
	if got := get[list](p, "/dataplanes").Total; got != 1 {
		t.Error("it was removed")
	}
}

// connect opens a stream, waits for the first answer, and returns how to end it.
func (p *plane) connect(name string) func() {
	p.t.Helper()
	stream, end := p.stream(name, "")
	if _, err := stream.Recv(); err != nil {
		p.t.Fatal(err)
	}
	return end
}

// credentials are those of the address for sidecars.
func (p *plane) credentials() credentials.TransportCredentials {
	if p.trusts == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(p.trusts)
}

func (p *plane) stream(name, token string) (discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient, func()) {
	p.t.Helper()
	return p.streamOf(name, token, map[string]any{"weft": "7.8.9"})
}

// streamOf is one whose agent has a version, and takes lines of requests as those of weft do.
func (p *plane) streamOf(name, token string, version map[string]any) (discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient, func()) {
	p.t.Helper()
	conn, err := grpc.NewClient(p.XDS(), grpc.WithTransportCredentials(p.credentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	about, err := structpb.NewStruct(map[string]any{"version": version, "features": []any{bootstrap.RequestsFeature}})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "default." + name, Metadata: about},
		TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster"}); err != nil && !errors.Is(err, io.EOF) { // then Recv says why
		p.t.Fatal(err)
	}
	return stream, func() {
		cancel()
		_ = conn.Close()
	}
}

func TestAStreamWithoutATokenGetsNothing(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.DataplaneAuth = "token"
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	foreign := p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"name":"backend-1","validFor":"1h"}`)
	for token, want := range map[string]codes.Code{"": codes.Unauthenticated, "nonsense": codes.Unauthenticated, foreign: codes.PermissionDenied} {
		stream, end := p.stream("frontend-1", token)
		if _, err := stream.Recv(); status.Code(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		end()
	}
}

const podEphemeral = `apiVersion: kuma.io/v1alpha1
kind: Dataplane
metadata: {name: guest-2, namespace: shop}
spec: {networking: {address: 127.0.0.8, inbound: [{port: 8080, tags: {kuma.io/service: guest}}]}}
`

// TestADataplaneOfKubernetesConnectsByItsFullName: applied or brought along.
func TestADataplaneOfKubernetesConnectsByItsFullName(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.DataplaneAuth = "token"
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", strings.ReplaceAll(podEphemeral, "guest-2", "pod-1"))
	token := func(name string) string {
		return p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"name":"`+name+`","validFor":"1h","tags":{"kuma.io/service":["guest"]}}`)
	}
	for _, name := range []string{"pod-1.shop", "guest-2.shop"} {
		ask := map[string]any{"name": name}
		if name == "guest-2.shop" {
			ask["dataplaneResource"] = podEphemeral
		}
		if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), token("pod-1"), ask); code != http.StatusForbidden {
			t.Errorf("%s with the token of another: %d %s", name, code, text)
		}
		if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), token(name), ask); code != http.StatusOK || !strings.Contains(text, `"default.`+name+`"`) {
			t.Fatalf("%s: %d %s", name, code, text)
		}
		eventually(t, name+" is served", func() bool { // at once, or as soon as what it brought is published
			stream, end := p.stream(name, token(name))
			defer end()
			_, err := stream.Recv()
			return err == nil
		})
	}
	ask := map[string]any{"name": "guest-2", "dataplaneResource": podEphemeral}
	if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), token("guest-2"), ask); code != http.StatusBadRequest || !strings.Contains(text, "--name guest-2.shop") {
		t.Errorf("the short name of a document with a namespace: %d %s", code, text)
	}
}
