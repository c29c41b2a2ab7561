package peers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/store"
)

// TestAPeerIsFollowedAtOneAddress: a replica that has addresses of two families is one, and stays
// followed where it is when the other becomes known.
func TestAPeerIsFollowedAtOneAddress(t *testing.T) {
	t.Parallel()
	four, six, other := store.ReplicaAddress{Address: "10.0.0.1:5678", Name: "b"}, store.ReplicaAddress{Address: "[fd00::1]:5678", Name: "b"}, store.ReplicaAddress{Address: "10.0.0.2:5678", Name: "c"}
	nameless, too := store.ReplicaAddress{Address: "10.0.0.3:5678"}, store.ReplicaAddress{Address: "10.0.0.4:5678"}
	live := &following{lastHeard: time.Now()}
	for name, x := range map[string]struct {
		following  map[string]*following
		all, wants []store.ReplicaAddress
	}{
		"the first":               {nil, []store.ReplicaAddress{four, six, other}, []store.ReplicaAddress{four, other}},
		"the one that is there":   {map[string]*following{six.Address: live}, []store.ReplicaAddress{four, six, other}, []store.ReplicaAddress{six, other}},
		"not one that is over":    {map[string]*following{six.Address: {over: true, lastHeard: time.Now()}}, []store.ReplicaAddress{four, six}, []store.ReplicaAddress{four}},
		"not one that is silent":  {map[string]*following{six.Address: {}}, []store.ReplicaAddress{four, six}, []store.ReplicaAddress{four}},
		"one that is left":        {map[string]*following{six.Address: live}, []store.ReplicaAddress{four}, []store.ReplicaAddress{four}},
		"those of whom none says": {nil, []store.ReplicaAddress{nameless, too}, []store.ReplicaAddress{nameless, too}},
	} {
		r := New()
		if x.following != nil {
			r.following = x.following
		}
		if diff := cmp.Diff(x.wants, r.once(x.all)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestWhoIsSilentIsNamed: a replica that should answer and does not, also one that is stopping,
// but none that has said that it holds nothing more.
func TestWhoIsSilentIsNamed(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		is   following
		want string
	}{
		"one that never answered":       {following{peer: store.ReplicaAddress{Name: "b", Ready: true}}, "the replica b at 10.0.0.1:5678 does not answer, so"},
		"one that starts":               {following{peer: store.ReplicaAddress{Name: "b"}}, ""},
		"one that stops":                {following{peer: store.ReplicaAddress{Name: "b", Stopping: true}, why: errSilent}, "the replica b at 10.0.0.1:5678 is stopping and does not answer, so"},
		"one that stopped":              {following{peer: store.ReplicaAddress{Name: "b", Stopping: true}, left: true}, ""},
		"one that stopped and is ready": {following{peer: store.ReplicaAddress{Name: "b", Ready: true}, left: true}, "the replica b at 10.0.0.1:5678 does not answer, so"},
		"this one":                      {following{peer: store.ReplicaAddress{Ready: true}, self: true}, ""},
	} {
		r := New()
		x.is.since = time.Now().Add(-time.Minute)
		r.following["10.0.0.1:5678"] = &x.is
		switch notes := r.Silent(); {
		case x.want == "" && len(notes) > 0:
			t.Errorf("%s: %v", name, notes)
		case x.want != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0].Message, x.want)):
			t.Errorf("%s: %v", name, notes)
		}
	}
}

// TestEventsOfPeers: what a peer tells of streams of its sidecars is told here as its own, without the revision,
// which is that of what the peer has seen. What cannot be read, and what is of no sidecar, which is told here anyway,
// is left out.
func TestEventsOfPeers(t *testing.T) {
	t.Parallel()
	bus := events.NewBus()
	t.Cleanup(bus.Close)
	r := New()
	r.cfg = Config{Events: bus, Changed: func() {}}
	r.ledger.peers["10.0.0.1:5678"] = &peerState{}
	r.hear(&following{name: "b"}, "10.0.0.1:5678", &Told{Events: [][]byte{
		[]byte(`{"type":"connect","dataplane":"Dataplane/default/web","revision":7}`),
		[]byte(`{"type":"recompute","revision":7}`),
		[]byte(`{"type":"nack","dataplane":"Dataplane/default/pay","revision":"seven"}`),
		[]byte(`{"type":`),
	}})
	all := slices.Concat(bus.Latest("connect"), bus.Latest("recompute"), bus.Latest("nack"), bus.Latest(""))
	if len(all) != 1 || all[0].Type != "connect" || all[0].Dataplane != "Dataplane/default/web" || all[0].Replica != "b" || all[0].Revision != 0 {
		t.Errorf("told here are %+v", all)
	}
}
