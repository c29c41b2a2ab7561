package traffic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	control "github.com/weftmesh/weft/control/traffic"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
)

const documents = `
type: Mesh
name: default
---
type: Dataplane
mesh: default
name: front-1
networking:
  address: 10.0.0.1
  inbound: [{port: 8080, tags: {kuma.io/service: front, kuma.io/protocol: http}}]
  outbound: [{port: 10001, tags: {kuma.io/service: web}}]
---
type: Dataplane
mesh: default
name: web-1
networking:
  address: 10.0.0.2
  inbound: [{port: 8080, tags: {kuma.io/service: web, kuma.io/protocol: http}}]
---
type: MeshHTTPRoute
mesh: default
name: versions
spec:
  to:
  - targetRef: {kind: MeshService, name: web}
    rules:
    - matches: [{path: {type: PathPrefix, value: /v1}}]
      default: {}
`

const anotherRule = `
    - matches: [{path: {type: PathPrefix, value: /v2}}]
      default: {}
`

var front = api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "front-1"}

// plane is a collector over documents that can be replaced, with a clock of its own.
type plane struct {
	*control.TrafficCollector
	model *resolve.Model
	now   time.Time
	every []time.Duration
}

func newPlane(t *testing.T, docs string) *plane {
	p := &plane{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	p.load(t, docs)
	p.TrafficCollector = control.New(func(ref api.Ref) (*effective.Resolved, bool) { return p.model.Dataplane(ref) },
		func() time.Time { return p.now }, control.Often, func(d time.Duration) { p.every = append(p.every, d) })
	return p
}

func (p *plane) load(t *testing.T, docs string) {
	t.Helper()
	objects, violations := world.Decode("docs", []byte(docs))
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	p.model, _ = world.Compile(world.Snapshot(objects...))
}

// slot is that of a rule of the route by its number; of what no rule takes for -1.
func (p *plane) slot(t *testing.T, rule int) uint32 {
	t.Helper()
	r, _ := p.model.Dataplane(front)
	table := r.CalledAs("web").Table
	for i, slot := range table.Slots() {
		if o := table.Routes[i].Origins; len(o) == 0 && rule < 0 || len(o) > 0 && *o[0].Rule == rule {
			return uint32(slot)
		}
	}
	t.Fatalf("no rule %d", rule)
	return 0
}

func (p *plane) items(by traffic.By) []traffic.Item {
	return p.Answer(traffic.TrafficQuery{Mesh: "default", By: by, Window: traffic.Minute}).Items
}

func report(name string, slots ...*attach.Slot) *attach.Traffic {
	return &attach.Traffic{Milliseconds: 10_000, Tables: []*attach.Table{{Number: 1, Name: name, Slots: slots}}}
}

// TestReports is that what is counted in a slot is that of the rule that has it, by the routes that the
// sidecar has.
func TestReports(t *testing.T) {
	p := newPlane(t, documents)
	take := p.Stream(front)
	v1, rest := p.slot(t, 0), p.slot(t, -1)
	take(report("web", &attach.Slot{Slot: v1, Completed: 30, Failed: 3, Durations: []uint32{10, 20},
		Causes: []*attach.Cause{{Flags: "UT", Details: "response_timeout", Status: 504, Count: 3}}}, &attach.Slot{Slot: rest, Completed: 5}))
	p.now = p.now.Add(10 * time.Second)
	got := p.items(traffic.ByRule)
	if len(got) != 2 || got[0].Route != "MeshHTTPRoute/versions" || got[0].Rule != "spec.to[0].rules[0]" || got[0].Requests != 30 || got[0].Caller != "front" || got[0].To != "web" ||
		len(got[0].Causes) != 1 || got[1].Route != "" || got[1].Requests != 5 {
		t.Fatalf("%+v", got)
	}
	// Another rule comes; the name of the table is not told again.
	p.load(t, documents+anotherRule)
	take(report("", &attach.Slot{Slot: p.slot(t, 0), Completed: 30}, &attach.Slot{Slot: p.slot(t, 1), Completed: 7}))
	p.now = p.now.Add(10 * time.Second)
	take(report("", &attach.Slot{Slot: p.slot(t, 1), Completed: 1}))
	p.now = p.now.Add(10 * time.Second)
	requests := map[string]uint64{}
	for _, i := range p.items(traffic.ByRule) {
		requests[i.Rule] += i.Requests
	}
	// The first seven may have been of whoever had the slot before.
	if want := map[string]uint64{"spec.to[0].rules[0]": 60, "spec.to[0].rules[1]": 1, "": 12}; fmt.Sprint(requests) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", requests, want)
	}
}

// TestReportsOfWhatIsNotThere is that a sidecar adds nothing by names, numbers and slots that its dataplane
// does not have, nor by reporting all the time.
func TestReportsOfWhatIsNotThere(t *testing.T) {
	p := newPlane(t, documents)
	take := p.Stream(front)
	for n := range uint32(5000) {
		take(&attach.Traffic{Milliseconds: 1 << 31, Tables: []*attach.Table{{Number: n, Name: fmt.Sprint("t", n), Slots: []*attach.Slot{{Slot: n, Completed: 1}}}}})
		p.now = p.now.Add(time.Second)
	}
	p.Stream(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "nobody"})(report("web", &attach.Slot{Completed: 1}))
	if got := p.items(traffic.ByRule); len(got) != 0 {
		t.Fatalf("%+v", got)
	}
	again := p.Stream(front)
	for range 100 {
		again(report("web", &attach.Slot{Slot: 600, Completed: 1}))
	}
	p.now = p.now.Add(10 * time.Second)
	if got := p.items(traffic.ByRule); len(got) != 1 || got[0].Requests != 1 || got[0].Route != "" {
		t.Errorf("%+v", got)
	}
}

// TestReplicas is that sums are of all replicas, and that one that does not answer is named.
func TestReplicas(t *testing.T) {
	one, two := newPlane(t, documents), newPlane(t, documents)
	one.Stream(front)(report("web", &attach.Slot{Slot: one.slot(t, 0), Completed: 4}))
	two.Stream(front)(report("web", &attach.Slot{Slot: two.slot(t, 0), Completed: 5}))
	one.now, two.now = one.now.Add(10*time.Second), two.now.Add(10*time.Second)
	all := control.ReplicaSums{Own: one.TrafficCollector, Peers: func(_ context.Context, q []byte) ([][]byte, []string) {
		answer, err := two.Sums(q)
		_, bad := two.Sums([]byte("{"))
		return [][]byte{answer}, []string{fmt.Sprint("cp-3 ", errors.Join(err, bad) != nil)}
	}}
	sums, silent := all.Traffic(t.Context(), traffic.TrafficQuery{Mesh: "default", By: traffic.ByService, Window: traffic.Minute})
	if len(sums.Items) != 1 || sums.Items[0].Requests != 9 || !slices.Equal(silent, []string{"cp-3 true"}) {
		t.Errorf("%+v, silent %v", sums, silent)
	}
}
