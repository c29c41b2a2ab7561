package control

import (
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/xds/server/attached"
)

// TestAPeerIsHeard: of a certificate knows best who hears the agent, also where the next one is of
// the same second, or of a replica whose clock is behind; and of what an Envoy has acknowledged who
// has its stream, also that it has done so no more.
func TestAPeerIsHeard(t *testing.T) {
	t.Parallel()
	dp := api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: "web-1"}
	x := newInsights(&Plane{agents: attached.New(attached.Options{})})
	tells := func(root string, issued int64) *peers.Sidecar {
		return &peers.Sidecar{Attached: true, Secured: &peers.Secured{Names: []string{"spiffe://default/web"}, Root: root, Issued: issued, Expires: issued + 86400}}
	}
	const now = 1_700_000_000
	for i, s := range []*peers.Sidecar{tells("old", now), tells("new", now), tells("newest", now-2)} {
		x.hears(dp, s)
		x.hears(dp, s) // as after the token of the peer was renewed
		if is := x.of[dp]; is.held.Root != s.Secured.Root || is.certificates != i+1 {
			t.Errorf("after %d: root %s, %d certificates", i, is.held.Root, is.certificates)
		}
	}
	for i, told := range []struct {
		s    *peers.Sidecar
		sees bool
	}{
		{&peers.Sidecar{Stream: &peers.Stream{}, Tls: true}, true},
		{tells("newest", now-2), true}, // whose Envoy is elsewhere
		{&peers.Sidecar{Stream: &peers.Stream{}}, false},
	} {
		if x.hears(dp, told.s); x.of[dp].seesThere != told.sees {
			t.Errorf("%d: it takes mutual TLS: %v", i, !told.sees)
		}
	}
}

// TestTheLaterCertificateIsKnown: who hears an agent takes from a peer, which hears it too for a
// while after it has moved, only a certificate that is later.
func TestTheLaterCertificateIsKnown(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	i := &insight{held: &authorities.Held{Root: "a", Issued: at, Ends: at.Add(time.Hour)}}
	for by, want := range map[time.Duration]bool{-time.Second: false, 0: false, time.Second: true} {
		if h := (authorities.Held{Root: "b", Issued: at.Add(by), Ends: at.Add(by + time.Hour)}); i.yields(h, true) != want {
			t.Errorf("a certificate %v later is taken: %v", by, !want)
		}
	}
}
