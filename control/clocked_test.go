package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/envoytest"
)

// hands is a clock that a test puts forward.
type hands struct{ ahead atomic.Int64 }

func (h *hands) now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

func (h *hands) forward(d time.Duration) { h.ahead.Add(int64(d)) }

// timed is a sidecar with a clock of its own.
func (p *plane) timed(name string, now func() time.Time) *timed {
	p.t.Helper()
	return newTimed(p.t, p.XDS(), p.trusts, name, p.dataplaneToken(name, ""), now)
}

// leavesOf is an authority by TLS alone whose leaves live so long.
func leavesOf(life string) string {
	return strings.Replace(strings.Replace(builtin, "PERMISSIVE", "STRICT", 1), "}", ", dpCert: {rotation: {expiration: "+life+"}}}", 1)
}

// settled waits until the control plane knows of the certificates of all and asks for no others: who
// is asked at the moment in which its first one comes has another signed, which is due later.
func (p *plane) settled(all ...*timed) {
	p.t.Helper()
	signed, since := int64(-1), time.Now()
	eventually(p.t, "their certificates are known", func() bool {
		known, sum := true, int64(0)
		for _, s := range all {
			known, sum = known && p.Reported(s.name), sum+s.signed.Load()
		}
		if sum != signed {
			signed, since = sum, time.Now()
		}
		return known && time.Since(since) > 500*time.Millisecond
	})
}

// TestAwayWhileLeavesAreDue (case 37): leaves live for an hour and the control plane is away for
// 20 minutes, in which some are to be renewed. None ends, and when it is back those are renewed
// that are due and no others.
func TestAwayWhileLeavesAreDue(t *testing.T) {
	t.Parallel()
	var clock hands
	var conf control.Config
	address := envoytest.Address(t)
	p := secure(t, discard(), func(c *control.Config) { c.Now, c.XDS = clock.now, address; conf = *c })
	p.want(http.StatusOK, http.MethodPost, "/_apply", calling("web-1", "web", "payments")+calling("pay-1", "payments", "web")+calling("late-1", "late", "web")+fmt.Sprintf(mutual, "ca-1", leavesOf("60m")))
	web, pay := p.timed("web-1", clock.now), p.timed("pay-1", clock.now)
	eventually(t, "they meet", func() bool { return meetAll(web, pay) == nil })
	p.settled(web, pay)
	clock.forward(20 * time.Minute)
	late := p.timed("late-1", clock.now)
	eventually(t, "all meet", func() bool { return meetAll(web, pay, late) == nil })
	p.settled(web, pay, late)
	met, end := watched(t, web, pay, late)
	clock.forward(5 * time.Minute) // none is due before half of its life
	p.stop()
	first := []int64{web.signed.Load(), pay.signed.Load(), late.signed.Load()}
	clock.forward(20 * time.Minute) // of web and payments they have been since two thirds of it
	before := met.Load()
	eventually(t, "they meet while it is away", func() bool { return met.Load() > before+10 })
	conf.DataplaneAuth, conf.XDSPlaintext = "token", false
	var log journal
	again := startLogging(t, conf, log.logger())
	defer again.stop()
	eventually(t, "those that are due are renewed", func() bool { return web.signed.Load() == first[0]+1 && pay.signed.Load() == first[1]+1 })
	before = met.Load()
	eventually(t, "they meet when it is back", func() bool { return met.Load() > before+10 })
	if end(); strings.Count(log.String(), "msg=signed") != 2 || late.signed.Load() != first[2] {
		t.Errorf("signed %d times, and %d for who is not due:\n%s", strings.Count(log.String(), "msg=signed"), late.signed.Load()-first[2], log.String())
	}
}

// TestAFrozenSidecarIsWaitedFor (case 36): a root is replaced while a sidecar that is connected
// acknowledges nothing, first of the new root, and then of the end of the old one. Either time
// it is waited for until its leaf has ended and no longer, and nobody meets a leaf that he refuses.
func TestAFrozenSidecarIsWaitedFor(t *testing.T) {
	t.Parallel()
	var clock hands
	p := secure(t, discard(), func(c *control.Config) { c.Now, c.RotationSpread = clock.now, time.Second })
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", calling("web-1", "web", "payments")+calling("pay-1", "payments", "web")+calling("cold-1", "cold", "web")+fmt.Sprintf(mutual, "ca-1", leavesOf("24h")))
	web, pay, cold := p.timed("web-1", clock.now), p.timed("pay-1", clock.now), p.timed("cold-1", clock.now)
	eventually(t, "all meet", func() bool { return meetAll(web, pay, cold) == nil })
	_, end := watched(t, web, pay, cold)
	phase := func() string { is, _ := p.Phase(); return is }
	// waits puts the clock forward until a phase is over.
	waits := func(in string, each func(hours int)) {
		t.Helper()
		eventually(t, "it is "+in, func() bool { return phase() == in })
		for hours := 0; phase() == in; hours += 2 {
			for _, s := range []*timed{web, pay, cold} {
				eventually(t, s.name+" is renewed", func() bool { return s.frozen.Load() || s.left() > 4*time.Hour })
			}
			if each(hours); hours > 40 {
				t.Fatalf("%s does not end", in)
			}
			clock.forward(2 * time.Hour)
			p.Stir()
			for end := time.Now().Add(time.Second); phase() == in && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			}
		}
	}
	ended := func(what string) {
		t.Helper()
		if left := cold.left(); left > 0 || left < -3*time.Hour {
			t.Errorf("%s, and the leaf of who is frozen lives for another %v", what, left)
		}
	}
	cold.frozen.Store(true)
	p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/rotate", `{"spread":"1s"}`)
	waits("Trusting", func(int) {})
	ended("the new root signs")
	cold.frozen.Store(false)
	eventually(t, "all have leaves of the new root", func() bool { return phase() == "Settling" && meetAll(web, pay, cold) == nil })
	waits("Settling", func(hours int) { cold.frozen.Store(hours >= 24) }) // when it was renewed
	if cold.left() < 2*time.Hour {
		t.Fatalf("nobody is to be waited for: %v", cold.left())
	}
	waits("Retiring", func(int) {})
	ended("the old root is gone")
	if end(); phase() != "Steady" {
		t.Error(phase())
	}
}
