package identity_test

import (
	"context"
	"encoding/pem"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/spiretest"
	"github.com/weftmesh/weft/sidecar/identity"
)

const ofSpire = "spiffe://spire.test/web"

// controlPlane says that certificates come from the SPIRE beside the workload, and hears of it.
type controlPlane struct {
	t     *testing.T
	spire *spiretest.Authority

	mu    sync.Mutex
	roots [][]byte
	told  *identity.WorkloadAPIState
	asked int
}

func (c *controlPlane) ask(_ context.Context, q identity.CertifyRequest) (identity.CertifyResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = q.Offer
	c.asked++
	return identity.CertifyResponse{Secret: "s", Names: []string{ofSpire}, Spire: &identity.Spire{ID: ofSpire, Timeout: 200 * time.Millisecond, Roots: c.roots}}, nil
}

// believe has others believe the roots that there are now.
func (c *controlPlane) believe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roots = nil
	for _, text := range c.spire.Roots() {
		block, _ := pem.Decode([]byte(text))
		c.roots = append(c.roots, block.Bytes)
	}
}

func (c *controlPlane) heard() (identity.WorkloadAPIState, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		return identity.WorkloadAPIState{}, c.asked
	}
	return *c.told, c.asked
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in a minute: %s", what)
		}
	}
}

// beside is a workload beside a Workload API that does not listen yet.
func beside(t *testing.T) (*controlPlane, *spiretest.Agent, *identity.Holder) {
	t.Helper()
	c := &controlPlane{t: t, spire: spiretest.New(t, "spire.test")}
	c.believe()
	agent := c.spire.Agent()
	h := identity.New(c.ask, agent.Address(), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan struct{})
	go func() { h.Keep(ctx); close(kept) }()
	t.Cleanup(func() { stop(); <-kept })
	return c, agent, h
}

// broken are the ways in which a Workload API gives what is of no use, and what is told of each.
var broken = map[string]struct {
	breaks func(*controlPlane, *spiretest.Agent)
	offers []string
	says   string
	mends  func(*controlPlane, *spiretest.Agent)
}{
	"another name": {
		breaks: func(_ *controlPlane, g *spiretest.Agent) { g.Give("spiffe://spire.test/other") }, offers: []string{"spiffe://spire.test/other"},
	},
	"it has ended": {
		breaks: func(c *controlPlane, g *spiretest.Agent) { c.spire.Live(time.Minute, time.Hour/2); g.Give(ofSpire) }, says: "it has ended at ",
		mends: func(c *controlPlane, _ *spiretest.Agent) { c.spire.Live(time.Hour, 0) },
	},
	"another root": {
		breaks: func(c *controlPlane, g *spiretest.Agent) { c.spire.AddRoot(); g.Give(ofSpire) }, says: "no root that others believe has signed it",
		mends: func(c *controlPlane, _ *spiretest.Agent) { c.believe() },
	},
}

// TestWhatIsOfNoUse: what the Workload API gives and nobody could use is told to the control plane
// and never shown; what was given before stays in use, and what comes after is used.
func TestWhatIsOfNoUse(t *testing.T) {
	t.Parallel()
	for name, b := range broken {
		for _, had := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " after one that is good", false: " first"}[had], func(t *testing.T) {
				t.Parallel()
				c, agent, h := beside(t)
				agent.Serve()
				if had {
					agent.Give(ofSpire)
					until(t, "it has one", func() bool { _, ok, _ := h.Current(); return ok })
				}
				before, _, _ := h.Current()
				b.breaks(c, agent)
				until(t, "it is told", func() bool {
					o, _ := c.heard()
					return slices.Equal(o.IDs, b.offers) && strings.Contains(o.Error, b.says) && (o.Error != "" || b.says == "") && (o.IDs != nil || o.Error != "") && o.Unbelieved == (name == "another root")
				})
				if now, ok, _ := h.Current(); ok != had || now.Serial != before.Serial || had && h.Ready(time.Now()) != nil {
					t.Errorf("now it shows %v %q", ok, now.Names)
				}
				if b.mends != nil {
					b.mends(c, agent)
				}
				agent.Give(ofSpire)
				until(t, "it shows the next", func() bool { now, ok, _ := h.Current(); return ok && now.Serial != before.Serial })
				h.Again()
				until(t, "nothing is wrong any more", func() bool {
					o, _ := c.heard()
					return o.Error == "" && !slices.Equal(o.IDs, []string{"spiffe://spire.test/other"})
				})
			})
		}
	}
}

// TestASpireThatIsAway: one that fails, is silent or gives keys that do not fit is told of where there
// is no certificate yet; one that was given is shown as long as it holds, and when it has ended the
// workload is not ready, and others hear why. One that comes back is followed.
func TestASpireThatIsAway(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]struct {
		breaks, mends func(*spiretest.Agent)
		says          string
	}{
		"it fails":                   {func(g *spiretest.Agent) { g.Fail(true) }, func(g *spiretest.Agent) { g.Fail(false) }, "the datastore is gone"},
		"it is silent":               {func(g *spiretest.Agent) { g.Mute(true) }, func(g *spiretest.Agent) { g.Mute(false) }, "the Workload API "},
		"the keys are of others":     {func(g *spiretest.Agent) { g.Foreign = true; g.Give(ofSpire) }, func(g *spiretest.Agent) { g.Foreign = false; g.Give(ofSpire) }, "key"},
		"the workload is a stranger": {func(g *spiretest.Agent) { g.Give() }, func(g *spiretest.Agent) { g.Give(ofSpire) }, "no identity issued"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, agent, h := beside(t)
			agent.Give(ofSpire)
			does.breaks(agent)
			agent.Serve()
			until(t, "it is told", func() bool { o, _ := c.heard(); return strings.Contains(o.Error, does.says) })
			if now, ok, _ := h.Current(); ok {
				t.Errorf("it shows %q", now.Names)
			}
			does.mends(agent)
			agent.Give(ofSpire)
			until(t, "it has one", func() bool { _, ok, _ := h.Current(); return ok })
			c.spire.Live(time.Second, 0)
			agent.Give(ofSpire)
			until(t, "it has one that ends soon", func() bool { now, _, _ := h.Current(); return time.Until(now.Expires) < time.Minute })
			first, _, _ := h.Current()
			does.breaks(agent)
			until(t, "it is told that the certificate has ended", func() bool {
				o, _ := c.heard()
				return strings.Contains(o.Error, "it has ended at ") || strings.Contains(o.Error, does.says)
			})
			until(t, "the workload is not ready", func() bool { return h.Ready(time.Now()) != nil })
			if now, _, _ := h.Current(); now.Serial != first.Serial {
				t.Errorf("it shows another: %q", now.Names)
			}
			c.spire.Live(time.Hour, 0)
			does.mends(agent)
			agent.Give(ofSpire)
			until(t, "the workload is ready", func() bool { return h.Ready(time.Now()) == nil })
		})
	}
}

// TestASpireThatRestarts: what it gave stays in use, and what it gives afterwards is used.
func TestASpireThatRestarts(t *testing.T) {
	t.Parallel()
	c, agent, h := beside(t)
	stop := agent.Serve()
	agent.Give(ofSpire)
	until(t, "it has one", func() bool { _, ok, _ := h.Current(); return ok })
	first, _, _ := h.Current()
	stop()
	_, before := c.heard()
	h.Again()
	until(t, "it has asked", func() bool { _, now := c.heard(); return now > before })
	if now, ok, _ := h.Current(); !ok || now.Serial != first.Serial || h.Ready(time.Now()) != nil {
		t.Errorf("it shows %q", now.Names)
	}
	agent.Give(ofSpire)
	agent.Serve()
	until(t, "it shows the next", func() bool { now, _, _ := h.Current(); return now.Serial != first.Serial })
}
