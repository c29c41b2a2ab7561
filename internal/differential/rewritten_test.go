package differential

import (
	"errors"
	"testing"

	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/permission"
)

// TestNobodyGetsMoreThanTheRule is the law of permissions on routes: what the sender's table gives
// to a rule with a permission never gets more than that permission, whatever rewrites, changes of
// headers, copies, other rules and other routes do on the way. It holds for WEFT_DIFF_PAIRS random
// requests (four times the usual number where it is not set) of seed WEFT_DIFF_SEED, in worlds of all route languages.
func TestNobodyGetsMoreThanTheRule(t *testing.T) {
	t.Parallel()
	pairs, seed := int(number(t, "WEFT_DIFF_PAIRS", 4*usual)), number(t, "WEFT_DIFF_SEED", 1)
	kept, more := 0, 0
	decided := map[string]int{}
	for n := 0; n*byRewrites.each < pairs && more < 5; n++ {
		worlds, list := drawPairs(t, byRewrites, seed, n, 1)
		w, err := compile(worlds[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			as, err := w.as(p.From)
			if err != nil {
				t.Fatal(err)
			}
			v, err := sim.Run(as, as.Resolved.Ref, p.Request)
			var nowhere *lookup.NotReached
			if errors.As(err, &nowhere) {
				continue
			}
			if err != nil {
				t.Fatalf("world %d: %v", n, err)
			}
			if said := as.exceeds(&v); said != "" {
				if more++; more < 3 {
					t.Errorf("world %d: %s: %s\n%s", n, p.short(), said, Report{p, said})
				}
			}
			kept++
			if q := v.Branches[0].Permission; q != nil {
				decided[q.Decision]++
			}
		}
	}
	t.Logf("%d requests in %d worlds, %d get more; %v", kept, kept/byRewrites.each, more, decided)
	if least := pairs / 8; more == 0 && (decided[permission.Allow] < least || decided[permission.Deny] < least) {
		t.Errorf("these worlds tell little apart: %v", decided)
	}
}

// TestRewritesAgree: the same worlds are carried out by Envoys as the simulator says, so that the
// law holds there too. WEFT_DIFF_PAIRS random pairs of seed
// WEFT_DIFF_SEED.
func TestRewritesAgree(t *testing.T) {
	t.Parallel()
	pairs := int(number(t, "WEFT_DIFF_PAIRS", usual))
	reports := Run(t, byRewrites, number(t, "WEFT_DIFF_SEED", 1), pairs, NewGrid())
	for _, r := range reports {
		t.Errorf("a disagreement; keep it in testdata once it is understood:\n%s", r)
	}
}
