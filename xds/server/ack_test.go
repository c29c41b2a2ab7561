package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
)

// TestAConfirmationCostsNothing: to take the confirmation of a change, no resource
// is looked at, however many a sidecar has.
func TestAConfirmationCostsNothing(t *testing.T) {
	t.Parallel()
	for _, outbounds := range []int{2, 40} {
		var documents, outs []string
		for i := range outbounds {
			documents = append(documents, fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":"d-%d","networking":{"address":"127.0.0.3","inbound":[{"port":%d,"tags":{"kuma.io/service":"s-%[1]d","kuma.io/protocol":"http"}}]}}`, i, 10000+i))
			outs = append(outs, fmt.Sprintf(`{"port":%d,"tags":{"kuma.io/service":"s-%d"}}`, 20000+i, i))
		}
		documents = append(documents, `{"type":"Dataplane","mesh":"default","name":"front","networking":{"address":"127.0.0.2","inbound":[{"port":80,"tags":{"kuma.io/service":"front"}}],"outbound":[`+strings.Join(outs, ",")+`]}}`)
		p := serve(t, nil, documents...)
		c := p.front()
		p.apply(`{"type":"MeshRetry","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"s-1"},"default":{"http":{"numRetries":3}}}]}}`)
		r := c.next("rds")
		front := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "front"}
		before := p.Looked(front)
		c.ack(r)
		p.synced("front")
		if n := p.Looked(front) - before; before == 0 || n != 0 {
			t.Errorf("%d resources were looked at for a confirmation, with %d outbounds", n, outbounds)
		}
	}
}
