package xds_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// only is a world of one dataplane.
type only struct{ plane *effective.Resolved }

func (o only) Dataplane(api.Ref) (*effective.Resolved, bool) { return o.plane, true }

func (o only) Destinations(string) iter.Seq[*effective.Destination] {
	return func(func(*effective.Destination) bool) {}
}

func (only) NamesFor(api.Ref, *effective.Destination, string) bool { return true }

// limits are layers of MeshRateLimit, weakest first: names of policies, and what
// they say.
func limits(layers ...merge.Layer) effective.Policies {
	return effective.Policies{ratelimit.Kind.Resolve(layers)}
}

// item is one item of a policy.
func item(name string, conf *ratelimit.HTTP) merge.Layer {
	origin := &api.Origin{Ref: api.Ref{Kind: ratelimit.Kind.Name, Mesh: "default", Name: name}, Field: "spec.to[0]"}
	return merge.Layer{Name: merge.Service, Origin: origin, Leaves: ratelimit.Kind.Schema.Read(&ratelimit.Conf{Local: &ratelimit.Local{HTTP: conf}})}
}

// hourly admits n requests.
func hourly(n uint32) *ratelimit.HTTP {
	hour := api.Duration(time.Hour)
	return &ratelimit.HTTP{RequestRate: &ratelimit.Rate{Num: &n, Interval: &hour}}
}

func answering(code uint32) *ratelimit.HTTP {
	return &ratelimit.HTTP{OnRateLimit: &ratelimit.OnRateLimit{Status: &code}}
}

// bucketTable has routes of every action under one limit of a service, and others.
func bucketTable() *effective.Table {
	service, other := item("service", hourly(5)), item("other", hourly(3))
	off := true
	forward := func(name string, ps effective.Policies) *effective.Route {
		r := rule(name, path(match.SegmentPrefix, "/"+name))
		r.Policies = ps
		return r
	}
	redirect := rule("redirect", path(match.SegmentPrefix, "/redirect"))
	redirect.Answer = &route.Redirect{Hostname: "example.org"}
	direct := rule("direct", path(match.Equal, "/direct"))
	direct.Backends = []effective.Backend{broken(1)}
	redirect.Policies, direct.Policies = limits(service), limits(service)
	t := table(
		forward("one", limits(service)), forward("two", limits(service)), redirect, direct,
		forward("three", limits(other)), forward("four", limits(other)),
		forward("five", limits(service, item("answer", answering(503)))),
		forward("six", limits(service, item("answer", answering(503)))),
		forward("alone", limits(item("alone", hourly(2)))),
		forward("off", limits(service, item("switch", &ratelimit.HTTP{Disabled: &off}))),
	)
	last := t.Routes[len(t.Routes)-1]
	last.Policies = limits(service)
	return t
}

// TestBucketsInEnvoy: what one item limits at one destination has one bucket,
// whatever the routes do, as far as they answer alike.
func TestBucketsInEnvoy(t *testing.T) {
	t.Parallel()
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(bucketTable()))
	for _, c := range []struct {
		what     string
		paths    []string
		admitted int
		refusal  int
	}{
		{"the service's limit, over six routes", []string{"/one", "/one/x", "/two", "/redirect", "/direct", "/rest"}, 5, 429},
		{"another item", []string{"/three", "/four"}, 3, 429},
		{"another answer", []string{"/five"}, 5, 503},
		{"another answer, another route", []string{"/six"}, 5, 503},
		{"one route alone", []string{"/alone", "/alone/x"}, 2, 429},
		{"switched off", []string{"/off"}, 30, 0},
	} {
		admitted := 0
		for i := range 30 {
			a, err := o.Ask(0, envoytest.Question{Method: "GET", Host: "web", Path: c.paths[i%len(c.paths)]})
			if err != nil {
				t.Fatal(err)
			}
			if a.Status != c.refusal {
				admitted++
			}
		}
		if admitted != c.admitted {
			t.Errorf("%s: %d of 30 admitted, want %d", c.what, admitted, c.admitted)
		}
	}
}

// TestBucketsAreCounted: the simulator knows how many there are.
func TestBucketsAreCounted(t *testing.T) {
	t.Parallel()
	tab := bucketTable()
	r := sidecar([]*effective.Table{tab}, []effective.ClusterUse{use("v1", web(), effective.Endpoint{Address: "127.0.0.1", Port: 1})})
	for path, want := range map[string]int{"one": 3, "redirect": 3, "direct": 3, "five": 3, "three": 0, "alone": 0, "off": 0} {
		v, err := sim.Run(only{r}, r.Ref, wire.Request{URL: fmt.Sprintf("http://127.0.0.1:10001/%s", path)})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Branches[0].Policies[ratelimit.Kind.Name].Buckets; got != want {
			t.Errorf("/%s: %d buckets, want %d", path, got, want)
		}
	}
}
