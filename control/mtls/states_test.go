package mtls

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The bits of facts, by which a test enumerates them.
func factsOf(n int) facts {
	bit := func(k int) bool { return n>>k&1 > 0 }
	return facts{certificate: bit(0), leaves: bit(1), insists: bit(2), connected: bit(3), comes: bit(4), here: bit(5), follows: bit(6),
		peer: bit(7), resumed: bit(8), holds: bit(9), known: bit(10), now: noon, patience: time.Minute}
}

const allFacts = 1 << 11

var noon = time.Unix(1_700_000_000, 0)

// ages are since when something may have lasted: not at all, for a moment, for longer than what is under
// way arrives, for longer than patience.
var ages = []time.Time{{}, noon.Add(-arrives / 2), noon.Add(-2 * arrives), noon.Add(-time.Hour)}

// eachState yields the states in which a dataplane may stand.
func eachState(yield func(state)) {
	for _, called := range []Called{Uncertified, Certified, CalledByTLS} {
		followed := ages
		if called == Uncertified {
			followed = ages[:1]
		}
		for _, f := range followed {
			yield(state{called: called, takes: AsDocumented, followed: f})
			yield(state{called: called, takes: StrictOnly, followed: f})
			for _, agreed := range ages {
				for _, held := range ages[1:] {
					yield(state{called, Held, f, agreed, held})
				}
			}
		}
	}
}

// eachStep yields what becomes of each state by all that may be seen.
func eachStep(yield func(from state, f facts, to state, do actions)) {
	eachState(func(s state) {
		for n := range allFacts {
			f := factsOf(n)
			to, do := next(s, f)
			yield(s, f, to, do)
		}
		f := facts{hardens: true, now: noon}
		to, do := next(s, f)
		yield(s, f, to, do)
	})
}

// TestTheTablesAreAllThatHappens: every change of a state is a row, and every row happens.
func TestTheTablesAreAllThatHappens(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	eachStep(func(from state, _ facts, to state, _ actions) {
		seen[string(from.called)+" "+string(to.called)], seen[string(from.takes)+" "+string(to.takes)] = true, true
	})
	rows := map[string]bool{}
	for _, r := range calling {
		rows[string(r.from)+" "+string(r.to)] = true
	}
	for _, r := range taking {
		rows[string(r.from)+" "+string(r.to)] = true
	}
	for what := range seen {
		if from, to, _ := strings.Cut(what, " "); from != to && !rows[what] {
			t.Errorf("%s is no row", what)
		}
	}
	for what := range rows {
		if !seen[what] {
			t.Errorf("%s never happens", what)
		}
	}
}

// TestLawsOfTheWay: what holds of every step, from whatever state and whatever is seen.
func TestLawsOfTheWay(t *testing.T) {
	t.Parallel()
	laws := map[string]func(from state, f facts, to state, do actions) bool{ // broken
		"who has no certificate is not called by TLS": func(_ state, f facts, to state, _ actions) bool {
			return to.called != Uncertified && !f.certificate && !f.hardens
		},
		"who was called in plain text is called by TLS only once an Envoy has acknowledged it": func(from state, f facts, to state, _ actions) bool {
			lasted := from.called == Certified && !from.followed.IsZero() && f.now.Sub(from.followed) > arrives
			return from.called != CalledByTLS && to.called == CalledByTLS && !f.peer && !lasted
		},
		"plain text that is held is taken until all who call have known for a while that it is called by TLS, or patience ends, or it is Strict no more": func(from state, f facts, to state, do actions) bool {
			agreed := from.called == CalledByTLS && f.known && !from.agreed.IsZero() && f.now.Sub(from.agreed) > arrives
			return from.takes == Held && to.takes == StrictOnly && !agreed && !do.gaveUp && f.holds
		},
		"patience ends no sooner than it is over": func(from state, f facts, _ state, do actions) bool {
			return do.gaveUp && f.now.Sub(from.held) <= f.patience
		},
		"what turns Strict takes plain text for a while": func(_ state, f facts, to state, _ actions) bool {
			return f.begins() && to.takes != Held
		},
		"nothing is Strict that documents do not say": func(_ state, f facts, to state, _ actions) bool {
			return to.takes == StrictOnly && !f.insists && !f.hardens
		},
		"going back, it is called by TLS until its Envoy takes both or is away": func(from state, f facts, to state, _ actions) bool {
			taken := f.follows || !f.comes
			if f.connected && !f.here {
				taken = !f.peer
			}
			return from.called == CalledByTLS && to.called == Certified && !(f.leaves && taken)
		},
		"what waits for an Envoy, or for others, is looked at again": func(_ state, f facts, to state, do actions) bool {
			waits := to.takes == Held || f.connected && (to.called == Certified && !f.leaves || to.called == CalledByTLS && f.leaves)
			return waits && !f.hardens && !do.lookAgain
		},
	}
	broken := map[string]bool{}
	eachStep(func(from state, f facts, to state, do actions) {
		for law, breaks := range laws {
			if !broken[law] && breaks(from, f, to, do) {
				broken[law] = true
				t.Errorf("%s: from %+v by %+v to %+v", law, from, f, to)
			}
		}
	})
}

// TestWhatIsNotKnownIsNotSafe: where nothing is seen of a sidecar, or of the others of its mesh, nothing moves
// towards mutual TLS alone.
func TestWhatIsNotKnownIsNotSafe(t *testing.T) {
	t.Parallel()
	eachState(func(s state) {
		if s.called == Uncertified || !s.followed.IsZero() {
			return
		}
		to, do := next(s, facts{certificate: true, insists: s.takes != AsDocumented, holds: s.takes == Held, now: noon, patience: time.Minute})
		if to.called != s.called || to.takes != s.takes && !do.gaveUp {
			t.Errorf("%+v becomes %+v", s, to)
		}
	})
	var agreed time.Time
	if on, _ := relies(&agreed, false, false, noon, noon, time.Minute); !on {
		t.Error("a mesh leaves while nobody knows who follows")
	}
	if on, _ := relies(&agreed, true, true, noon, noon, time.Minute); !on {
		t.Error("a mesh leaves while one of it is called by TLS")
	}
}

// TestThereIsAWayBack: from every state documents lead back to plain text, in steps that Envoys acknowledge.
func TestThereIsAWayBack(t *testing.T) {
	t.Parallel()
	eachState(func(s state) {
		from := s
		for i := range 3 {
			s, _ = next(s, facts{certificate: s.called != Uncertified, leaves: true, connected: true, comes: true, here: true, follows: true,
				now: noon.Add(time.Duration(i) * arrives), patience: time.Minute})
		}
		if s.called == CalledByTLS || s.takes != AsDocumented {
			t.Errorf("from %+v documents lead to %+v", from, s)
		}
	})
}

// TestARestartGoesOnFromThere: what is written down of a state is that state, but for plain text that is
// held: that is held anew.
func TestARestartGoesOnFromThere(t *testing.T) {
	t.Parallel()
	eachState(func(s state) {
		kept := insight{told: &nothingKnown, sees: s.called == CalledByTLS, strict: s.takes == StrictOnly, resumes: s.takes != StrictOnly}
		f := facts{certificate: s.called != Uncertified, insists: true, comes: true, resumed: kept.resumes, now: noon, patience: time.Minute}
		to, _ := next(kept.state(), f)
		want := map[Takes]Takes{AsDocumented: Held, Held: Held, StrictOnly: StrictOnly}[s.takes]
		if to.called != s.called || to.takes != want {
			t.Errorf("after a restart %+v is %+v", s, to)
		}
	})
}

// TestDrawingIsTheTables: docs/mutual-tls.md shows the rows of the tables.
func TestDrawingIsTheTables(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/mutual-tls.md")
	if err != nil {
		t.Fatal(err)
	}
	line := func(from, to, when string) string { return "| " + from + " | " + to + " | " + when + " |" }
	var rows []string
	for _, r := range calling {
		rows = append(rows, line(string(r.from), string(r.to), r.when))
	}
	for _, r := range taking {
		rows = append(rows, line(string(r.from), string(r.to), r.when))
	}
	var shown []string
	for _, l := range strings.Split(string(page), "\n") {
		if name, _, _ := strings.Cut(strings.TrimPrefix(l, "| "), " "); slices.Contains([]string{"Uncertified", "Certified", "CalledByTLS", "AsDocumented", "Held", "StrictOnly"}, name) {
			shown = append(shown, l)
		}
	}
	if !slices.Equal(shown, rows) {
		t.Errorf("the page shows\n%s\nand the tables are\n%s", strings.Join(shown, "\n"), strings.Join(rows, "\n"))
	}
}
