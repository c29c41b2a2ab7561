package rotation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// with is a world of these sidecars.
func with(all ...Sidecar) Fleet { return Fleet{Sidecars: slices.Values(all)} }

// TestPhases: a rotation from its begin to its end, what each phase waits for, and what is
// trusted and who signs meanwhile.
func TestPhases(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	s := Start("a", noon)
	s, _ = s.Reserve(noon.Add(day), 0)
	s, err := s.Begin("b", noon)
	if err != nil {
		t.Fatal(err)
	}
	web := Sidecar{"web", true, s.Trust - 1, "a", noon.Add(day)}
	gone := Sidecar{"gone", false, s.Trust - 1, "a", noon.Add(2 * time.Hour)}
	now := noon
	step := func(want, describes string, waits ...string) {
		t.Helper()
		next, wait := s.Step(with(web, gone), now)
		s = next
		got := fmt.Sprintf("%s %v signed by %s", s.Phase, s.Trusted(), s.Signer())
		if got != want || !slices.Equal(wait.Names, waits) {
			t.Errorf("%s: %s, waits for %v until %v; want %s, %v", describes, got, wait.Names, wait.Until, want, waits)
		}
	}
	step("Trusting [a b] signed by a", "nobody has acknowledged", "web", "gone")
	web.Trust = s.Trust
	step("Trusting [a b] signed by a", "one is absent", "gone")
	now = noon.Add(2 * time.Hour)
	step("Issuing [a b] signed by b", "its leaf has ended")
	step("Issuing [a b] signed by b", "one leaf is old", "web")
	if at, ok := s.RenewAt(web, 10*time.Minute); !ok || at.Before(now) || at.After(now.Add(10*time.Minute)) {
		t.Errorf("web renews at %v, %v", at, ok)
	}
	s, _ = s.Reserve(now.Add(day), 0)
	web.Root, web.Ends = "b", now.Add(day)
	if _, ok := s.RenewAt(web, 10*time.Minute); ok {
		t.Error("a new leaf is renewed")
	}
	step("Settling [a b] signed by b", "all leaves are new")
	now = noon.Add(day + 30*time.Minute)
	step("Settling [a b] signed by b", "clocks may be behind")
	now = noon.Add(day + time.Hour)
	step("Retiring [b] signed by b", "no old leaf is left")
	step("Retiring [b] signed by b", "one trusts the old root", "web")
	web.Trust = s.Trust
	step("Steady [b] signed by b", "nobody does")
	step("Steady [b] signed by b", "it is over")
}

// TestRefusals: what cannot be begun or aborted, and that an abort changes at once neither
// who signs nor what is trusted.
func TestRefusals(t *testing.T) {
	t.Parallel()
	steady := Start("a", noon)
	if _, err := steady.Begin("a", noon); err == nil {
		t.Error("rotated to itself")
	}
	if _, err := steady.Abort(noon); err == nil {
		t.Error("aborted nothing")
	}
	for _, p := range []Phase{Trusting, Issuing, Settling, Retiring} {
		s := State{Phase: p, Old: Root{Fingerprint: "a"}, New: Root{Fingerprint: "b"}, Trust: 2}
		if _, err := s.Begin("c", noon); err == nil || !strings.Contains(err.Error(), string(p)) {
			t.Errorf("%s: began another: %v", p, err)
		}
		back, err := s.Abort(noon)
		if (err != nil) != (p == Retiring) {
			t.Errorf("%s: %v", p, err)
		}
		if p == Retiring {
			continue
		}
		before, after := s.Trusted(), back.Trusted()
		slices.Sort(after)
		if back.Signer() != s.Signer() || !slices.Equal(before, after) || back.Trust != s.Trust {
			t.Errorf("%s: %+v became %+v", p, s, back)
		}
	}
}

// TestForce: it names whose calls will fail, and nobody else.
func TestForce(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Hour)
	w := with(Sidecar{"old", true, 2, "a", later}, Sidecar{"new", true, 2, "b", later}, Sidecar{"late", true, 1, "b", later}, Sidecar{"ended", false, 1, "a", noon})
	for p, want := range map[Phase]string{Trusting: "old late", Issuing: "old", Settling: "old", Retiring: "", Steady: ""} {
		s := State{Phase: p, Old: Root{Fingerprint: "a"}, New: Root{Fingerprint: "b"}, Trust: 2}
		next, broken := s.Force(w, noon)
		if got := strings.Join(broken.Names, " "); got != want || broken.Count != len(broken.Names) {
			t.Errorf("%s: %s fail, want %s", p, got, want)
		}
		if want != "" && (next.Phase != Retiring || next.Trust != 3) {
			t.Errorf("%s: %+v", p, next)
		}
	}
}

// TestStored: a state comes back as it was; what is no state is refused.
func TestStored(t *testing.T) {
	t.Parallel()
	s, err := Start("a", noon).Begin("b", noon)
	if err != nil {
		t.Fatal(err)
	}
	s, _ = s.Reserve(noon.Add(time.Hour), time.Minute)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parse(text); err != nil || again != s {
		t.Errorf("%s: %+v, %v", text, again, err)
	}
	for _, text := range []string{``, `{}`, `{"phase":"Steady"}`, `{"phase":"Resting","old":{"fingerprint":"a"},"trust":1}`,
		`{"phase":"Trusting","old":{"fingerprint":"a"},"trust":1}`, `{"phase":"Steady","old":{"fingerprint":"a"},"trust":1,"more":1}`,
		`{"phase":"Steady","old":{"fingerprint":"a"},"new":{"fingerprint":"b"},"trust":1}`, `{"phase":"Steady","old":{"fingerprint":"a"},"trust":0}`,
		string(text) + string(text)} {
		if s, err := parse([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// TestLaw drives rotations among sidecars that come, go and freeze, with messages that are
// late or lost, a control plane that dies between any two steps, and people who begin and
// abort. After every step, whoever has a valid leaf is trusted by all who have one; and once
// all is calm, the rotation ends.
func TestLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newMesh(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"":           func(t *rapid.T) { m.law(t) },
			"clock":      m.clock,
			"serve":      func(t *rapid.T) { m.serve(m.any(t), life(t)) },
			"begin":      m.begin,
			"abort":      m.abort,
			"step":       func(*rapid.T) { m.step() },
			"advance":    m.advance,
			"crash":      m.crash,
			"join":       m.join,
			"hasten":     func(t *rapid.T) { m.hasten(m.any(t)) },
			"connect":    func(t *rapid.T) { m.connect(m.any(t)) },
			"disconnect": func(t *rapid.T) { m.disconnect(m.any(t)) },
			"leave":      m.leave,
			"send":       func(t *rapid.T) { m.send(m.any(t)) },
			"issue":      func(t *rapid.T) { m.issue(m.any(t), life(t)) },
			"deliver":    func(t *rapid.T) { m.deliver(m.any(t)) },
			"hear":       func(t *rapid.T) { m.hear(m.any(t)) },
		})
		m.calm(rt)
	})
}
