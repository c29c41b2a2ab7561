package peers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/xds/server/attached"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// What an Envoy takes long for is known to all replicas.
func TestWhatAnEnvoyTakesLongForIsTold(t *testing.T) {
	t.Parallel()
	ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "front"}
	since := time.Unix(1000, 5)
	told := sidecarOf(ref, syncstatus.Status{Connected: true, Unconfirmed: []syncstatus.Unconfirmed{
		{Type: "cds", Requested: true, Since: since, Resolving: []string{"bank:443"}}, {Type: "lds", Since: since},
	}}, attached.Stream{}, false)
	l := newLedger()
	l.begin("peer")
	l.hear("peer", &Told{Sidecars: []*Sidecar{told}, Whole: true})
	p := l.peers["peer"]
	s, _ := l.state("peer", p, ref, p.sidecars[ref])
	want := []inspect.Unconfirmed{{Type: "cds", Requested: true, Since: since, Resolving: []string{"bank:443"}}, {Type: "lds", Since: since}}
	if diff := cmp.Diff(want, s.Unconfirmed); diff != "" {
		t.Error(diff)
	}
}
