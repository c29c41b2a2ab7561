package control_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/control"
)

// TestAPIServerSharesTokensOfDataplanes: a token that one replica has issued is good at another,
// and one that another has revoked is void at all, its streams end, and it stays void for
// replicas that come later.
func TestAPIServerSharesTokensOfDataplanes(t *testing.T) {
	t.Parallel()
	a := admitting(t, func(c *control.Config) { c.DataplaneAuth = "token" })
	second := a.cfg
	second.DataDir = t.TempDir()
	other := start(t, second)
	create(t, a.Cluster, "/apis/kuma.io/v1alpha1/namespaces/on/dataplanes", `{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm},
spec: {networking: {address: 198.51.100.9, inbound: [{port: 80, tags: {kuma.io/service: vm}}]}}}`)
	for _, p := range []*plane{a.plane, other} {
		eventually(t, "the Dataplane is read", func() bool {
			code, _ := p.call(http.MethodGet, "/meshes/default/dataplanes/vm.on", "")
			return code == http.StatusOK
		})
	}
	text := other.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"vm.on","validFor":"1h"}`)
	stream, end := a.plane.stream("vm.on", text)
	defer end()
	if _, err := stream.Recv(); err != nil {
		t.Fatalf("a token of another replica: %v", err)
	}
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(text, &claims); err != nil {
		t.Fatal(err)
	}
	if code, said := other.call(http.MethodPost, "/tokens/revoke", `{"ids":["`+claims.ID+`"]}`); code >= 300 {
		t.Fatalf("revoke: %d %s", code, said)
	}
	for err := error(nil); err == nil; {
		if _, err = stream.Recv(); err != nil && (status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "revoked")) {
			t.Errorf("its stream: %v", err)
		}
	}
	third := a.cfg
	third.DataDir = t.TempDir()
	for name, p := range map[string]*plane{"first": a.plane, "second": other, "third": start(t, third)} {
		s, end := p.stream("vm.on", text)
		if _, err := s.Recv(); status.Code(err) != codes.Unauthenticated {
			t.Errorf("revoked, at the %s replica: %v", name, err)
		}
		end()
	}
}
