package differential

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/buckets"
)

// dryWorld is documents whose limits run dry within a few requests: some on the
// caller's side, some on that of who is called. Nothing is repeated or copied, and
// every workload is there, so that each request takes one token a side and is seen.
func (d draw) dryWorld() []m {
	var docs []m
	for _, doc := range d.documents() {
		switch doc["type"] {
		case "MeshRetry", "MeshTimeout", "MeshRateLimit", "MeshFaultInjection":
		default:
			docs = append(docs, plainly(doc).(m))
		}
	}
	for i := range 1 + d.IntN(4) {
		to := one(d, m{"kind": "Mesh"}, m{"kind": "MeshService", "name": "web"}, m{"kind": "MeshHTTPRoute", "name": one(d, routeNames...)})
		spec := m{"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": to, "default": d.dry()}}}
		if d.chance(4) {
			spec["from"] = []any{m{"targetRef": m{"kind": "Mesh"}, "default": d.dry()}}
		}
		docs = append(docs, m{"type": "MeshRateLimit", "mesh": "default", "name": fmt.Sprintf("p%d", i), "spec": spec})
	}
	return docs
}

func (d draw) dry() m {
	limit := m{"requestRate": m{"num": 1 + d.IntN(6), "interval": "1h"}}
	if d.chance(3) {
		limit["onRateLimit"] = m{"status": one(d, 429, 503)}
	}
	return m{"local": m{"http": limit}}
}

// plainly is v without mirrors and without ports where nobody listens.
func plainly(v any) any {
	switch v := v.(type) {
	case m:
		out := m{}
		for k, x := range v {
			if k != "servicePort" {
				out[k] = plainly(x)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			if f, ok := x.(m); !ok || f["type"] != "RequestMirror" {
				out = append(out, plainly(x))
			}
		}
		return out
	}
	return v
}

// tokens counts what is left in the buckets of one world.
type tokens map[string]uint32

// take takes a token from the bucket of that name, made full; ok is false where it
// is empty.
func (t tokens) take(name string, b buckets.Bucket) (ok bool) {
	if _, made := t[name]; !made {
		t[name] = b.Tokens
	}
	if t[name] == 0 {
		return false
	}
	t[name]--
	return true
}

// bucketNames names the bucket of each route of a table; empty where there is none.
func bucketNames(t *effective.Table) []string {
	limits := make([]buckets.Limited, len(t.Routes))
	for i, rt := range t.Routes {
		limits[i], _ = limitOf(rt.Policies)
	}
	out := make([]string, len(limits))
	for i, shared := range buckets.Shared(limits) {
		switch {
		case shared:
			out[i] = "item " + limits[i].Item
		case limits[i].Item != "":
			out[i] = fmt.Sprintf("route %d", i)
		}
	}
	return out
}

// TestBucketsRunDry sends many requests through limits on both sides, one after the
// other: each is admitted or refused as the buckets say of which explain and simulate
// speak, and a limit of n buckets admits n times its rate.
func TestBucketsRunDry(t *testing.T) {
	t.Parallel()
	const count, requests = 60, 50
	var worlds []Source
	draws := make([]draw, count)
	for i := range count {
		draws[i] = newDraw(31, uint64(i))
		worlds = append(worlds, Source{Documents: draws[i].dryWorld()})
	}
	f := newFleet(t, newRoom(t, workloadNames...), worlds)
	refused := map[string]int{}
	for i, w := range f.worlds {
		left, names := tokens{}, bucketNames(w.table())
		for range requests {
			p := Pair{Source: worlds[i], Request: draws[i].request()}
			p.Request.Method = http.MethodGet
			v, err := sim.Run(w, client, p.Request)
			if err != nil {
				t.Fatal(err)
			}
			o, err := f.ask(f.worlds[i], p, "dry-"+strconv.FormatUint(asked.Add(1), 10))
			if err != nil {
				t.Fatal(err)
			}
			side, said := w.admitted(&v, o, left, names)
			if refused[side]++; said != "" {
				t.Fatalf("world %d, %s: %s; left are %v", i, p.short(), said, left)
			}
		}
		w.countBuckets(t, names)
	}
	for _, side := range []string{"caller", "called", ""} {
		if refused[side] < 50 {
			t.Errorf("refused by %q were %d, want 50 at least", side, refused[side])
		}
	}
}

// admitted says by which side a request is refused, if it is, and what is wrong with
// that.
func (w *World) admitted(v *sim.Verdict, o *Observed, left tokens, names []string) (side, wrong string) {
	b := &v.Branches[0]
	if b.Route == nil {
		return "", ""
	}
	at := len(v.Missed) // two routes of a rule may have one name
	if l, ok := limitOf(w.table().Routes[at].Policies); ok && !left.take(names[at], l.Bucket) {
		if o.Status != int(l.Bucket.Status) || o.Tries > 0 {
			wrong = fmt.Sprintf("the bucket of %s is empty, and yet %s", names[at], o.text())
		}
		return "caller", wrong
	}
	if b.Outcome != sim.Forward {
		return "", answered(Pair{}, o, b.Status)
	}
	if len(o.Attempts) == 1 {
		if name, l, ok := w.inboundLimit(o.Attempts[0].Workload); ok && !left.take(name, l.Bucket) {
			return "", "admitted past the empty bucket of " + name
		}
		return "", ""
	}
	for i := range b.Backends {
		x := &b.Backends[i]
		if x.Status == uint32(o.Status) || w.dead(x) && o.Status >= 500 {
			return "", ""
		}
		for _, in := range x.Inbounds {
			for _, dataplane := range in.Names {
				if name, l, ok := w.inboundLimit(dataplane); ok && left.empty(name, l.Bucket) && o.Status == int(l.Bucket.Status) {
					return "called", ""
				}
			}
		}
	}
	return "called", "nobody's bucket is empty, and yet " + o.text()
}

// empty reports whether nothing is left in a bucket.
func (t tokens) empty(name string, b buckets.Bucket) bool {
	n, made := t[name]
	return made && n == 0 || !made && b.Tokens == 0
}

// inboundLimit is what limits the requests to a dataplane of w.
func (w *World) inboundLimit(dataplane string) (name string, l buckets.Limited, ok bool) {
	for r := range w.Dataplanes("default") {
		if r.Ref.Name == dataplane && r.Inbounds[0].Protocol.HTTPLike() {
			l, ok = limitOf(r.Inbounds[0].Policies)
			return "inbound " + dataplane, l, ok
		}
	}
	return "", l, false
}

// countBuckets holds what a verdict says of the number of buckets.
func (w *World) countBuckets(t *testing.T, names []string) {
	t.Helper()
	count := sim.CountBuckets(w.table())
	for _, rt := range w.table().Routes {
		l, ok := limitOf(rt.Policies)
		if !ok {
			continue
		}
		var buckets []string
		for i, other := range w.table().Routes {
			if o, ok := limitOf(other.Policies); ok && o.Item == l.Item {
				buckets = append(buckets, names[i])
			}
		}
		views := sim.RoutePolicies(nil, rt, w.table().Destination.Protocol)
		count.Tell(rt, views)
		if said := max(views["MeshRateLimit"].Buckets, 1); said != len(compact(slices.Clone(buckets))) {
			t.Errorf("route %s: the verdict says %d buckets, there are %v", rt.Name, said, buckets)
		}
	}
}
