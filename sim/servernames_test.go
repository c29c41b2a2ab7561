package sim_test

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
)

// askedNames are those for which clients ask in TLS; the first asks for none.
var askedNames = []string{"", "a.test", "b.a.test", "c.b.a.test", "x.test", "other.example"}

// routedNames are those of drawn TLSRoutes.
var routedNames = []string{"a.test", "b.a.test", "c.b.a.test", "'*.a.test'", "'*.b.a.test'", "'*.test'", "'*.example'", "nobody.example"}

// drawGatewayRoutes are the Service d<i> of namespace shop and what routes its connections:
// a TCPRoute, or some TLSRoutes of which several may have a name.
func drawGatewayRoutes(r *rand.Rand, i int) []string {
	docs := []string{fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: d%d, namespace: shop}\nspec: {ports: [{port: 80, appProtocol: %s}]}\n", i, []string{"tcp", "http", "tls"}[r.IntN(3)])}
	kind, n := "TCPRoute", 1+r.IntN(2)
	if i%3 == 2 {
		kind, n = "TLSRoute", 1+r.IntN(3)
	}
	for k := range n {
		names := ""
		if kind == "TLSRoute" {
			var list []string
			for _, at := range r.Perm(len(routedNames))[:1+r.IntN(3)] {
				list = append(list, routedNames[at])
			}
			names = "hostnames: [" + strings.Join(list, ", ") + "], "
		}
		docs = append(docs, fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: %s\nmetadata: {name: r%d-%d, namespace: shop, creationTimestamp: \"2026-01-0%dT00:00:00Z\"}\n"+
			"spec: {parentRefs: [{group: '', kind: Service, name: d%[2]d}], %[5]srules: [{backendRefs: [%[6]s]}]}\n", kind, i, k, 1+r.IntN(3), names, strings.Join(drawGatewayBackends(r), ", ")))
	}
	return docs
}

// drawGatewayBackends are backendRefs of the Gateway API, some of which cannot be used or get
// nothing.
func drawGatewayBackends(r *rand.Rand) []string {
	refs := []string{"name: sa, port: 80", "name: sb, port: 80", "name: gone, port: 80", "name: nosuch, port: 80", "name: sa, port: 81", "name: sa", "group: x, kind: Y, name: z",
		"group: kuma.io, kind: MeshExternalService, name: outside", "name: sb, namespace: shop, port: 80"}
	weights := []int{0, 1, 1, 2, 10, 1_000_000}
	out := make([]string, 1+r.IntN(4))
	for i := range out {
		out[i] = fmt.Sprintf("{%s, weight: %d}", refs[r.IntN(len(refs))], weights[r.IntN(len(weights))])
	}
	return out
}

// clientHello is how a client begins that asks for a name in TLS, or for none.
func clientHello(t *testing.T, name string) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer far.Close()
	go func() {
		_ = tls.Client(near, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake() // nobody answers
		_ = near.Close()
	}()
	record := make([]byte, 5) // its type, version and length
	if _, err := io.ReadFull(far, record); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(record[3:]))
	if _, err := io.ReadFull(far, body); err != nil {
		t.Fatal(err)
	}
	return append(record, body...)
}
