package control_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/attach"
)

// proving is admitting where sidecars prove who they are, over TLS with the authority of the
// cluster, as the Service calls itself.
func proving(t *testing.T) *admitted {
	t.Helper()
	a := admitting(t, func(c *control.Config) { c.DataplaneAuth, c.XDSPlaintext, c.APITLS = "token", false, "127.0.0.1:0" })
	a.trustRoots()
	create(t, a.Cluster, "/api/v1/namespaces/on/serviceaccounts", `metadata: {name: app}`)
	return a
}

// trustRoots makes what asks the control plane by TLS trust the authority of the cluster.
func (a *admitted) trustRoots() {
	a.Helper()
	_, secret := a.Send(a, http.MethodGet, secretOfRoots, nil)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authorityOf(a.T, secret)))
	a.plane.trusts = &tls.Config{RootCAs: roots, ServerName: "weft-control-plane.weft-system.svc", MinVersion: tls.VersionTLS12}
}

// run makes a pod as the API server injects it, and plays the kubelet: it runs.
func (a *admitted) run(name, ip string) (uid string) {
	a.Helper()
	status, got := a.Send(a, http.MethodPost, podsOfOn, a.podOf(name, "labels: {app: web}", `serviceAccountName: app, containers: [{name: app, image: app, ports: [{containerPort: 8080}]}]`))
	if status != http.StatusCreated || len(containers(got, "initContainers")) != 2 {
		a.Fatalf("%s: %d %v", name, status, got["message"])
	}
	a.phase(name, "Running", ip)
	return got["metadata"].(map[string]any)["uid"].(string)
}

// phase is what the kubelet says of a pod.
func (a *admitted) phase(name, phase, ip string) {
	a.Helper()
	_, p := a.Send(a, http.MethodGet, podsOfOn+"/"+name, nil)
	p["status"] = kubetest.Document(a, fmt.Sprintf(`{phase: %s, podIP: %[2]s, podIPs: [{ip: %[2]s}]}`, phase, ip))
	if status, got := a.Send(a, http.MethodPut, podsOfOn+"/"+name+"/status", p); status != http.StatusOK {
		a.Fatalf("the status of %s: %d %v", name, status, got["message"])
	}
}

// token is one of the account app, bound to a pod where it is named.
func (a *admitted) token(audience, pod, uid string) string {
	a.Helper()
	spec := map[string]any{"expirationSeconds": 3600}
	if audience != "" {
		spec["audiences"] = []any{audience}
	}
	if pod != "" {
		spec["boundObjectRef"] = map[string]any{"kind": "Pod", "apiVersion": "v1", "name": pod, "uid": uid}
	}
	status, got := a.Send(a, http.MethodPost, "/api/v1/namespaces/on/serviceaccounts/app/token", map[string]any{"spec": spec})
	if status != http.StatusCreated {
		a.Fatalf("a token: %d %v", status, got["message"])
	}
	return got["status"].(map[string]any)["token"].(string)
}

// ends is the code with which a stream of ADS ends, or is refused.
func (a *admitted) ends(name, token string) codes.Code {
	a.Helper()
	stream, end := a.plane.stream(name, token)
	defer end()
	_, err := stream.Recv()
	return status.Code(err)
}

// attaches opens the stream of the sidecar's agent, and tells how it ends.
func (a *admitted) attaches(name, token string) <-chan codes.Code {
	a.Helper()
	conn, err := grpc.NewClient(a.plane.XDS(), grpc.WithTransportCredentials(a.plane.credentials()))
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { conn.Close() })
	ctx := metadata.AppendToOutgoingContext(a.Context(), "authorization", "Bearer "+token)
	stream, err := attach.NewSidecarClient(conn).Attach(ctx)
	if err == nil {
		err = stream.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: "default." + name}}})
	}
	if err != nil {
		a.Fatal(err)
	}
	ended := make(chan codes.Code, 1)
	go func() {
		for err == nil {
			_, err = stream.Recv()
		}
		ended <- status.Code(err)
	}()
	return ended
}

// TestAPIServerSaysWhoSidecarsAre is row 50 of spec/kubernetes.md 8 by streams of ADS and of
// agents, and by /bootstrap; and row 20: the stream of a pod that has ended ends.
func TestAPIServerSaysWhoSidecarsAre(t *testing.T) {
	t.Parallel()
	a := proving(t)
	const ask = `{"mesh":"default","name":"p1.on","validFor":"1h"}`
	early := a.plane.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", ask)
	first, second := a.run("p1", "198.51.100.1"), a.run("p2", "198.51.100.2")
	one, two := a.token("weft-dataplane", "p1", first), a.token("weft-dataplane", "p2", second)

	stream, end := a.plane.stream("p1.on", one)
	defer end()
	if _, err := stream.Recv(); err != nil {
		t.Fatalf("p1 itself: %v", err)
	}
	attached := a.attaches("p1.on", one)
	for name, c := range map[string]struct {
		token string
		want  codes.Code
	}{
		"another pod's":      {two, codes.PermissionDenied},
		"the API token":      {a.token("", "p1", first), codes.Unauthenticated},
		"an unbound one":     {a.token("weft-dataplane", "", ""), codes.Unauthenticated},
		"none":               {"", codes.Unauthenticated},
		"one of weft's keys": {early, codes.PermissionDenied},
	} {
		if got := a.ends("p1.on", c.token); got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	a.plane.want(http.StatusBadRequest, http.MethodPost, "/tokens/dataplane", ask)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: a.plane.trusts}}
	defer client.CloseIdleConnections()
	for name, want := range map[string]int{"p1.on": http.StatusOK, "p2.on": http.StatusForbidden} {
		if code, text := a.plane.ask(client, "https://"+a.plane.XDS(), one, map[string]any{"mesh": "default", "name": name}); code != want {
			t.Errorf("bootstrap of %s: %d %s", name, code, text)
		}
	}

	if status, got := a.Send(t, http.MethodDelete, podsOfOn+"/p1?gracePeriodSeconds=0", nil); status != http.StatusOK {
		t.Fatalf("%d %v", status, got["message"])
	}
	for err := error(nil); ; {
		if _, err = stream.Recv(); err != nil {
			if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "revoked") {
				t.Errorf("the stream of a pod that is gone: %v", err)
			}
			break
		}
	}
	if got := <-attached; got != codes.Unauthenticated {
		t.Errorf("the agent of a pod that is gone: %v", got)
	}
	if got := a.ends("p1.on", one); got != codes.Unavailable { // its review holds, its pod is not known
		t.Errorf("a pod that is gone comes back: %v", got)
	}

	last, endLast := a.plane.stream("p2.on", two)
	defer endLast()
	if _, err := last.Recv(); err != nil {
		t.Fatalf("p2 itself: %v", err)
	}
	a.phase("p2", "Succeeded", "198.51.100.2")
	for err := error(nil); err == nil; {
		if _, err = last.Recv(); err != nil && status.Code(err) != codes.Unauthenticated {
			t.Errorf("the stream of a pod that has ended: %v", err)
		}
	}
	eventually(t, "its Dataplane is gone", func() bool {
		code, _ := a.plane.call(http.MethodGet, "/meshes/default/dataplanes/p2.on", "")
		return code == http.StatusNotFound
	})
	if got := a.ends("p2.on", two); got != codes.PermissionDenied {
		t.Errorf("a pod that has ended comes back: %v", got)
	}
}

// TestAPIServerPodsTakeTheirNames: who has a token by hand for the name of a pod that is not
// there is ended when the pod comes, and refused from then on, whether or not there was a
// Dataplane of that name.
func TestAPIServerPodsTakeTheirNames(t *testing.T) {
	t.Parallel()
	a := proving(t)
	create(t, a.Cluster, "/apis/kuma.io/v1alpha1/namespaces/on/dataplanes", `
{apiVersion: kuma.io/v1alpha1, kind: Dataplane, mesh: default, metadata: {name: p1}, spec: {networking: {address: 198.51.100.77, inbound: [{port: 8080, tags: {kuma.io/service: vm}}]}}}`)
	eventually(t, "the Dataplane is resolved", func() bool { // a stream of before would be told to connect again
		code, _ := a.plane.call(http.MethodGet, "/meshes/default/dataplanes/p1.on/_explain", "")
		return code == http.StatusOK
	})
	for i, name := range []string{"p1", "p2"} {
		token := a.plane.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"`+name+`.on","validFor":"1h"}`)
		stream, end := a.plane.stream(name+".on", token)
		defer end()
		ended := make(chan codes.Code, 1)
		go func() {
			var err error
			for err == nil {
				_, err = stream.Recv()
			}
			ended <- status.Code(err)
		}()
		agent := a.attaches(name+".on", token)
		eventually(t, "somebody is "+name, func() bool {
			_, text := a.plane.call(http.MethodGet, "/metrics", "")
			return strings.Contains(text, fmt.Sprintf("weft_streams{protocol=\"delta\"} %d\n", 1))
		})
		uid := a.run(name, fmt.Sprintf("198.51.100.%d", i+1))
		if got := <-ended; got != codes.Unauthenticated && got != codes.Unavailable { // it is told to come again where it was not known
			t.Errorf("%s: the stream ended with %v", name, got)
		}
		if got := <-agent; got != codes.Unauthenticated {
			t.Errorf("%s: that of the agent ended with %v", name, got)
		}
		if got := a.ends(name+".on", token); got != codes.PermissionDenied {
			t.Errorf("%s comes again: %v", name, got)
		}
		own, endOwn := a.plane.stream(name+".on", a.token("weft-dataplane", name, uid))
		if _, err := own.Recv(); err != nil {
			t.Errorf("%s itself: %v", name, err)
		}
		endOwn()
		eventually(t, "it is gone", func() bool {
			_, text := a.plane.call(http.MethodGet, "/metrics", "")
			return strings.Contains(text, "weft_streams{protocol=\"delta\"} 0\n")
		})
	}
}
