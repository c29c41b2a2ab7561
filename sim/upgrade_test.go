package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// TestRefusedUpgradeTakesNothing: neither a token nor an attempt.
func TestRefusedUpgradeTakesNothing(t *testing.T) {
	t.Parallel()
	limit := &ratelimit.Conf{Local: &ratelimit.Local{HTTP: &ratelimit.HTTP{RequestRate: &ratelimit.Rate{Num: ptr[uint32](1), Interval: ptr(api.Duration(time.Hour))}}}}
	rt := everything(to("v1", 1))
	rt.Upgrade = route.UpgradeOff
	rt.Policies = effective.Policies{ratelimit.Kind.Resolve([]merge.Layer{{Name: merge.Route, Origin: &api.Origin{}, Leaves: ratelimit.Kind.Schema.Read(limit)}})}
	r := shop(rt)
	socket := wire.Request{URL: "http://web:8080/", Method: "GET", Answers: "200", Headers: wire.Headers{"connection": "Upgrade", "upgrade": "websocket"}}
	v, err := run(r, socket)
	if err != nil {
		t.Fatal(err)
	}
	b := v.Branches[0]
	if got, want := outcomeText(b)+fmt.Sprintf(" %v %v", b.Policies, v.Unknown), "respond 403: v1=1/403 map[] ["+timeline.NothingAttempted+"]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := playing(r, socket, func(int) timeline.BackendResponse { return timeline.BackendResponse{Status: 200} }); err == nil {
		t.Error("it is played")
	}
}
