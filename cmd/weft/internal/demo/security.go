package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/sim/permission"
)

// The traffic that goes on while the mesh changes: so many callers at once, each of which
// pauses so long after an answer.
const (
	trafficCallers = 4
	trafficPause   = 10 * time.Millisecond
)

// prepare applies what a step changes, and returns what is to be said of it.
func (d *Demo) prepare(ctx context.Context, s step) (string, error) {
	switch {
	case len(s.apply) == 0:
		return "", nil
	case s.meanwhile:
		return d.underTraffic(ctx, s)
	}
	return "", d.change(ctx, s)
}

// change applies the documents of a step, and waits after each of its files until all sidecars
// have acknowledged and inbounds take mutual TLS as it says.
func (d *Demo) change(ctx context.Context, s step) error {
	for _, file := range s.apply {
		text, err := fs.ReadFile(d.config.World.changes, file)
		if err != nil {
			return fmt.Errorf("read the demo's documents: %w", err)
		}
		var written struct {
			Revision uint64 `json:"revision"`
		}
		if err := d.plane.Client.Call(ctx, "POST", "/_apply", "application/yaml", text, &written); err != nil {
			return fmt.Errorf("apply %s: %w", file, err)
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		err = d.mesh.until(ctx, file, func(ctx context.Context) error { return d.settled(ctx, written.Revision) })
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// settled fails as long as a sidecar has something of a revision yet to acknowledge, or an inbound
// is in another mode than documents say, or has connections that are not of its mode.
func (d *Demo) settled(ctx context.Context, revision uint64) error {
	var status conditions.Overview
	if err := d.plane.Client.Get(ctx, "/meshes/"+d.mesh.mesh+"/_status", &status); err != nil {
		return err
	}
	if s := status.Sidecars; s.Revision < revision || s.InSync < len(d.mesh.workloads) {
		return fmt.Errorf("%d of %d sidecars are in sync with revision %d", s.InSync, len(d.mesh.workloads), s.Revision)
	}
	var secured mtls.MTLS
	if err := d.plane.Client.Get(ctx, "/meshes/"+d.mesh.mesh+"/_mtls", &secured); err != nil {
		return err
	}
	for _, x := range secured.Items {
		for _, i := range x.Inbounds {
			if i.Confirmed != i.Wanted || i.Wanted == "Strict" && i.Plain.Open > 0 || x.Certificate == nil {
				return fmt.Errorf("%s is %s, with %d connections in plain text", x.Name, cmp.Or(i.Confirmed, "not known"), i.Plain.Open)
			}
		}
	}
	return nil
}

// underTraffic is change while requests of the step are on the way. It says how many there were
// and fails where one did.
func (d *Demo) underTraffic(ctx context.Context, s step) (string, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var asked, failed atomic.Int64
	var first sync.Once
	var wrong error
	var callers sync.WaitGroup
	done := make(chan struct{})
	for range trafficCallers {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(trafficPause):
				}
				r, err := d.ask(ctx, d.callerOf(s, 0), s, "")
				if err == nil && r.Status != s.statuses(0) {
					err = fmt.Errorf("status %d: %s", r.Status, r.text)
				}
				if asked.Add(1); err != nil {
					failed.Add(1)
					first.Do(func() { wrong = err })
				}
			}
		})
	}
	err := d.change(ctx, s)
	close(done)
	callers.Wait()
	said := fmt.Sprintf("%d requests meanwhile, %d failed", asked.Load(), failed.Load())
	if wrong != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", said, wrong))
	}
	return said, err
}

// decided is what was decided about a caller.
type decided struct {
	decision string
	by       string // the document that lets the caller in, or that would let others in
}

func (p decided) compare(got *permission.Permission) error {
	if got == nil {
		return errors.New("nobody asks who calls")
	}
	said := got.By != nil && origin(got.By.Origin) == p.by ||
		got.By == nil && slices.ContainsFunc(got.Others, func(c permission.Considered) bool { return origin(c.By.Origin) == p.by })
	if got.Decision != p.decision || !said {
		return fmt.Errorf("%s, wanted %s by %s", permissionText(got), p.decision, p.by)
	}
	return nil
}

// permissionText is who is let in or kept out, and by which document.
func permissionText(p *permission.Permission) string {
	text := cmp.Or(p.Identity, "a caller in plain text")
	if p.Decision == permission.Allow {
		text += " is let in"
	} else {
		text += " is kept out"
	}
	if p.By != nil {
		return text + "\tby " + origin(p.By.Origin)
	}
	text += ": " + p.Reason
	if len(p.Others) > 0 { // the nearest to the rule first
		text += "\t" + origin(p.Others[0].By.Origin) + ": " + p.Others[0].Why
	}
	return text
}

// keptOut holds that the first caller is refused and the second is not.
func keptOut(all []Response) (string, error) {
	if a := all[1].answer; a == nil || a.Service != "orders" {
		return "", fmt.Errorf("wanted orders to answer the second caller, got %+v", a)
	}
	return "frontend is kept out, web is let in", nil
}
