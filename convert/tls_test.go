package convert_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
)

// What is for clients that speak TLS is told, and not made one for plaintext.
func TestRoutesOverTLSAreLeftOut(t *testing.T) {
	t.Parallel()
	objects, found := world.Decode("test.yaml", []byte(`
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: public, namespace: shop}, spec: {gatewayClassName: weft, listeners: [{name: s, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: c}]}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: all, namespace: shop}, spec: {parentRefs: [{name: public}], hostnames: [a.example.org], rules: [{backendRefs: [{name: v1, port: 80}]}]}}
`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	got := convert.Objects(objects, convert.Options{Catalog: world.Catalog(), Dialects: world.Dialects(), Kind: "HTTPProxy"})
	if len(got.Notes) == 0 || len(got.Objects) > 0 {
		t.Fatalf("%d objects, notes %v", len(got.Objects), got.Notes)
	}
	if n := got.Notes[0]; n.Severity != api.Error || !strings.Contains(n.Message, "speak TLS") {
		t.Errorf("the first note is %+v", n)
	}
}
