package sim_test

import (
	"math"
	"sync"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

// TestSharesAgreeWithEnvoy counts where requests go. A share that is right lies
// outside of six standard deviations once in a billion runs.
func TestSharesAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	rt := everything(to("v1", 70), to("v2", 0), to("v3", 20), lost(10))
	rt.Mirrors = []resolve.Mirror{{Backend: to("v2", 1), Percent: 30}}
	r := shop(rt)
	oracle := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(r.Outbounds[0].Table))
	v, err := run(r, sim.Request{URL: "http://web:8080/"})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	var mu sync.Mutex
	got := map[string]int{}
	var ids []string
	var asked sync.WaitGroup
	for range 8 {
		asked.Go(func() {
			for range n / 8 {
				a, err := oracle.Ask(0, envoytest.Question{Method: "GET", Host: "web:8080", Path: "/"})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if a.Status == 500 {
					got["nosuch"]++
				} else {
					got[a.Cluster]++
					ids = append(ids, a.ID)
				}
				mu.Unlock()
			}
		})
	}
	asked.Wait()
	near := func(what string, count, of int, share float64) {
		if off := math.Abs(float64(count) - share*float64(of)); off > 6*math.Sqrt(share*(1-share)*float64(of)) {
			t.Errorf("%s gets %d of %d, the simulator says %v", what, count, of, share)
		}
	}
	for _, b := range v.Branches[0].Backends {
		near(b.Name, got[b.Name], n, b.Share)
	}
	if len(got) != len(v.Branches[0].Backends) {
		t.Errorf("Envoy sends to %v, the simulator to %+v", got, v.Branches[0].Backends)
	}
	// A copy is sent when the request is, so all but the last have arrived.
	copies := 0
	for _, id := range ids {
		copies += len(oracle.Copies(id))
	}
	near("the mirror", copies, n, v.Branches[0].Mirrors[0].Share)
}
