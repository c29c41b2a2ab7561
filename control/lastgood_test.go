package control_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

// TestTheLastGoodRevisionOutlivesARestart: a real Envoy that refuses a listener goes on with the
// revision before, and the next control plane of the data directory says with which.
func TestTheLastGoodRevisionOutlivesARestart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := config(t)
	c.Store, c.XDS = "bolt", fmt.Sprintf("127.0.0.1:%d", envoytest.Port(t))
	first, port := start(t, c), envoytest.Port(t)
	dataplane := func(more string) string {
		return fmt.Sprintf("{type: Dataplane, mesh: default, name: web-1, networking: {address: 127.0.0.1, inbound: [{port: %d, servicePort: 1, serviceAddress: 127.0.0.1, tags: {kuma.io/service: web, kuma.io/protocol: http}}]%s}}", port, more)
	}
	type page struct {
		Items []struct {
			State string
			Acked uint64
		}
	}
	rows := func(p *plane) page { return get[page](p, "/meshes/default/_sidecars?state=refusing") }
	first.want(http.StatusOK, http.MethodPost, "/_apply", dataplane(""))
	first.runs("web-1")
	good := get[struct{ Acked uint64 }](first, "/meshes/default/dataplanes/web-1/_explain").Acked
	first.want(http.StatusOK, http.MethodPost, "/_apply", dataplane(", outbound: [{address: 127.0.0.1, port: "+strings.Split(taken.Addr().String(), ":")[1]+", tags: {kuma.io/service: web}}]"))
	eventually(t, "Envoy refuses", func() bool { got := rows(first).Items; return len(got) == 1 && got[0].Acked == good })
	first.stop()

	second := start(t, c)
	eventually(t, "Envoy refuses again, and goes on with the same revision", func() bool {
		got := rows(second).Items
		return len(got) == 1 && got[0].Acked == good
	})
	second.want(http.StatusOK, http.MethodPost, "/_apply", dataplane(""))
	eventually(t, "it follows again", func() bool {
		return len(rows(second).Items) == 0 && get[struct{ Acked uint64 }](second, "/meshes/default/dataplanes/web-1/_explain").Acked > good
	})
}
