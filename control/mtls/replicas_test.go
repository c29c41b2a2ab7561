package mtls

import (
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/attached"
)

// TestAPeerIsHeard: of a certificate knows best who hears the agent, also where the next one is of
// the same second, or of a replica whose clock is behind; and of what an Envoy has acknowledged who
// has its stream, also that it has done so no more.
func TestAPeerIsHeard(t *testing.T) {
	t.Parallel()
	dp := api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: "web-1"}
	x := NewInsights(&Parts{Agents: attached.New(attached.Options{})})
	tells := func(root string, issued int64) *peers.Sidecar {
		return &peers.Sidecar{Attached: true, Secured: &peers.Secured{Names: []string{"spiffe://default/web"}, Root: root, Issued: issued, Expires: issued + 86400}}
	}
	const now = 1_700_000_000
	for i, s := range []*peers.Sidecar{tells("old", now), tells("new", now), tells("newest", now-2)} {
		x.HearPeer(dp, s)
		x.HearPeer(dp, s) // as after the token of the peer was renewed
		if is := x.insight(dp); is.held.held().Root != s.Secured.Root || int(is.certificates) != i+1 {
			t.Errorf("after %d: root %s, %d certificates", i, is.held.held().Root, is.certificates)
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
		if x.HearPeer(dp, told.s); x.insight(dp).seesThere != told.sees {
			t.Errorf("%d: it takes mutual TLS: %v", i, !told.sees)
		}
	}
}

// TestTheLaterCertificateIsKnown: who hears an agent takes from a peer, which hears it too for a
// while after it has moved, only a certificate that is later.
func TestTheLaterCertificateIsKnown(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	i := &insight{told: &nothingKnown, held: newHeldCert(authorities.ProvenCertificate{Root: "a", Issued: at, Ends: at.Add(time.Hour)})}
	for by, want := range map[time.Duration]bool{-time.Second: false, 0: false, time.Second: true} {
		if h := (authorities.ProvenCertificate{Root: "b", Issued: at.Add(by), Ends: at.Add(by + time.Hour)}); i.yields(newHeldCert(h), true) != want {
			t.Errorf("a certificate %v later is taken: %v", by, !want)
		}
	}
}

// TestWhatAnEnvoyElsewhereTakes: of an Envoy with a stream at another replica that replica knows whether
// it takes mutual TLS. It is called so from then on; and where its identity goes, until the replica
// says that it takes plain text.
func TestWhatAnEnvoyElsewhereTakes(t *testing.T) {
	t.Parallel()
	dp := api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: "web-1"}
	x := NewInsights(&Parts{Agents: attached.New(attached.Options{})})
	now := time.Unix(1_700_000_000, 0)
	elsewhere := func(tls bool) *peers.Sidecar { return &peers.Sidecar{Stream: &peers.Stream{}, Tls: tls} }
	x.HearPeer(dp, &peers.Sidecar{Attached: true, Secured: &peers.Secured{Names: []string{"spiffe://default/web"}, Root: "r", Issued: now.Unix(), Expires: now.Unix() + 86400}})
	for i, step := range []struct {
		told   *peers.Sidecar
		leaves bool
		s      sight
		tls    bool
		waits  bool // for it to take something else
	}{
		{elsewhere(false), false, sight{connected: true, comes: true}, false, true},
		{elsewhere(true), false, sight{connected: true, comes: true}, true, false},
		{elsewhere(false), false, sight{connected: true, comes: true}, true, false}, // who knows that calls by TLS, and it is never plain text again
		{elsewhere(true), true, sight{connected: true, comes: true}, true, true},
		{elsewhere(false), true, sight{connected: true, comes: true}, false, false},
		{elsewhere(true), false, sight{connected: true, comes: true, here: true, sees: false}, true, false},
	} {
		x.HearPeer(dp, step.told)
		i0, want := x.insight(dp), api.DataplaneInsight{}
		x.waiting = nil
		x.identified(dp, i0, &effective.Identity{Names: []string{"spiffe://default/web"}, Leaves: step.leaves}, &want, step.s, now)
		if i0.told = &want; !want.Identity || want.TLS != step.tls || (len(x.waiting) > 0) != step.waits {
			t.Errorf("%d: %+v, waiting %v", i, want, x.waiting)
		}
	}
}

// TestAnEnvoyWaitsForItsAgent: as long as nobody has heard what certificate the workload has; a peer
// that has heard it does, and a certificate that is being proved is waited for.
func TestAnEnvoyWaitsForItsAgent(t *testing.T) {
	t.Parallel()
	dp := api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: "web-1"}
	x := NewInsights(&Parts{Agents: attached.New(attached.Options{})})
	var attachedAt time.Time
	if !x.silent(dp, &attachedAt) {
		t.Error("nobody has heard its agent, and it is not waited for")
	}
	x.Shown(dp, &attach.Certificate{})
	if !x.silent(dp, &attachedAt) {
		t.Error("what its agent shows is not waited for")
	}
	x.HearPeer(dp, &peers.Sidecar{Attached: true, Secured: &peers.Secured{Names: []string{"spiffe://default/web"}, Root: "r", Issued: 1, Expires: 2}})
	if x.silent(dp, &attachedAt) {
		t.Error("a peer has heard its agent, and it is waited for")
	}
}
