package server_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// lines are those that begin with a message.
func (j *journal) lines(message string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, `msg="`+message+`"`) || strings.Contains(line, "msg="+message+" ") {
			out = append(out, line)
		}
	}
	return out
}

func logged(j *journal, o *server.Options) { o.Logger = slog.New(slog.NewTextHandler(j, nil)) }

// TestRefusedStreamsAreLogged: every refusal says where it came from and who
// the client claimed to be, bounded, and never what it showed as a token.
func TestRefusedStreamsAreLogged(t *testing.T) {
	t.Parallel()
	k := keys(t)
	good := issue(t, k, "front")
	for name, tc := range map[string]struct{ node, credentials, claim string }{
		"no token":      {"default.front", "", "node=default.front "},
		"a bad token":   {"default.front", "Bearer " + good + "x", "node=default.front "},
		"another's":     {"default.other", "Bearer " + good, "node=default.other "},
		"a long name":   {"default." + strings.Repeat("n", 100_000), "", "node=\"default.nnnn"},
		"no name":       {"", "Bearer " + good, `node="" `},
		"nothing there": {"front", "Bearer " + good, "node=front "},
	} {
		j := &journal{}
		p := two(t, func(o *server.Options) { o.Authenticator = k; logged(j, o) })
		c := p.delta(tc.node, tc.credentials)
		c.ask("cds", nil)
		c.ended()
		got := strings.Join(j.lines("refused a stream"), "")
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, tc.claim) || !strings.Contains(got, "address=127.0.0.1:") || len(got) > 2000 {
			t.Errorf("%s: logged %s", name, got)
		}
		if strings.Contains(got, good[len(good)-40:]) {
			t.Errorf("%s: the log has the token", name)
		}
	}
}

// TestComingAndGoingIsLogged: who connected and left, and why.
func TestComingAndGoingIsLogged(t *testing.T) {
	t.Parallel()
	j := &journal{}
	p := two(t, func(o *server.Options) { logged(j, o); o.StreamsPerIdentity = 1 })
	c := p.front()
	if got := j.lines("connected"); len(got) != 1 || !strings.Contains(got[0], "dataplane=Dataplane/default/front") || !strings.Contains(got[0], "client=envoy") {
		t.Errorf("connected: %s", got)
	}
	second := p.delta("default.front", "")
	second.ask("cds", nil)
	if code, _ := second.ended(); code != codes.ResourceExhausted {
		t.Errorf("a stream too many: %v", code)
	}
	if got := j.lines("refused a stream"); len(got) != 1 || !strings.Contains(got[0], "has 1 streams already") {
		t.Errorf("refused: %s", got)
	}
	c.end()
	p.until("front", "is gone", func(s syncstatus.Status) bool { return !s.Connected })
	if got := j.lines("disconnected"); len(got) != 1 || !strings.Contains(got[0], "dataplane=Dataplane/default/front") || !strings.Contains(got[0], "why=") {
		t.Errorf("disconnected: %s", got)
	}
}

// TestRefusalsDoNotFillTheLog: the words of a sidecar are cut, in the status
// too, its culprits are found in them all the same, every refusal is counted,
// and one cause is logged once in a while, also by a sidecar that comes back.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	j := &journal{}
	p := two(t, func(o *server.Options) { logged(j, o); o.LogEvery = time.Hour; o.ResendEvery = time.Millisecond })
	words := strings.Repeat("nonsense ", 1000) + "outbound:web:8080" + strings.Repeat(" nonsense", 300_000)
	c := p.front()
	for n := 1; n <= 3; n++ {
		p.apply(retries(n + 2))
		c.nack(c.next("rds"), words)
		p.until("front", "counts", func(s syncstatus.Status) bool { return s.Types["rds"].Nacked == uint64(n) })
	}
	s, _ := p.Status(dataplaneRef("front"))
	if len(s.Nack.Message) > 4<<10 || !strings.HasPrefix(s.Nack.Message, "nonsense") || len(s.Nack.Resources) != 1 {
		t.Errorf("%d bytes of the message are kept, resources %v", len(s.Nack.Message), s.Nack.Resources)
	}
	c.end()
	p.until("front", "is gone", func(s syncstatus.Status) bool { return !s.Connected })
	c = p.delta("default.front", "")
	c.ask("cds", nil)
	c.nack(c.next("cds"), "another cause")
	p.until("front", "refuses that too", func(s syncstatus.Status) bool { return s.Types["cds"].Nacked == 1 })
	got := j.lines("refused")
	if len(got) != 2 || len(got[0]) > 5<<10 || !strings.Contains(got[1], "unlogged=2") {
		t.Errorf("%d lines of %d bytes", len(got), len(strings.Join(got, "")))
	}
}

// TestManyCausesDoNotFillTheLog: who varies its words is logged a few times.
func TestManyCausesDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	j := &journal{}
	p := two(t, func(o *server.Options) { logged(j, o); o.LogEvery = time.Hour; o.ResendEvery = time.Millisecond })
	c := p.delta("default.front", "")
	c.configure()
	for n := range 40 {
		p.apply(retries(n + 3))
		c.nack(c.next("rds"), strings.Repeat("x", n))
	}
	p.until("front", "refused all", func(s syncstatus.Status) bool { return s.Types["rds"].Nacked == 40 })
	if got := len(j.lines("refused")); got != 16 {
		t.Errorf("%d lines", got)
	}
}
