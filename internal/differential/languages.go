package differential

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/tables"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// Languages are random documents of one route language each, with those beside them that
// they refer to, by the name of the dialect; those of the Gateway API for services and for
// listeners. There are no faults among them: one of all requests acts on a rule that stands for what no rule took
// before, and hides what becomes of requests.
func Languages(seed, world uint64) map[string][]map[string]any {
	d := newDraw(seed, world)
	out := map[string][]map[string]any{"kuma": d.documents(), "gateway": d.gatewayDocuments(), "contour": d.proxies(), "skipper": d.groups(), "listeners": d.listenerDocuments()}
	for name, docs := range out {
		out[name] = slices.DeleteFunc(docs, func(doc m) bool { return kindOf(doc) == "MeshFaultInjection" })
	}
	for _, doc := range out["contour"] {
		if kindOf(doc) == "HTTPProxy" && d.chance(7) {
			spec := doc["spec"].(m)
			if host, ok := spec["virtualhost"].(m); ok {
				delete(host, "corsPolicy")
			}
			for _, r := range list(spec["routes"]) {
				common(r)
			}
		}
	}
	return out
}

// common leaves of a route of an HTTPProxy what other languages may have words for, so that
// more than a few of the routes that are drawn are translated.
func common(r m) {
	for _, policy := range []string{"requestHeadersPolicy", "responseHeadersPolicy"} {
		if strings.Contains(fmt.Sprint(r[policy]), "%") {
			delete(r, policy)
		}
	}
	for _, s := range list(r["services"]) {
		delete(s, "protocol")
		delete(s, "requestHeadersPolicy")
	}
	if timeouts, ok := r["timeoutPolicy"].(m); ok {
		delete(timeouts, "idleConnection")
	}
}

// Requests are random requests to an authority: many aimed at one of the matches, some as
// few would send them, each with what the workloads answer.
func Requests(seed, world uint64, authority string, matches []match.Match, n int) []wire.Request {
	d := newDraw(seed, world)
	var out []wire.Request
	for range n {
		q := d.request()
		if d.chance(5) {
			at := drawnURL(q)
			q.URL = atHost("any", one(d, "/", "/a", "/a/", "/a/b", "/ab", "/a.b", "/v1/x", "/a/q/x", "/a//x", "/b", "/b/c"), at.RawQuery)
		}
		if len(matches) > 0 && d.chance(6) {
			q = tables.Dice{Rand: d.Rand}.Aimed(&matches[d.IntN(len(matches))], q)
		}
		if d.chance(2) {
			q.Headers.Add("cookie", one(d, "c=A", "c=AB", "d=1; c=A", "c=B; c=A"))
		}
		p := Pair{Request: q}
		if d.chance(3) {
			d.spoil(&p)
		}
		at := drawnURL(p.Request)
		p.Request.URL = atHost(authority, at.EscapedPath(), at.RawQuery)
		p.Request.Answers = one(d, "200", "503,200", "409,503,200", "reset,504,200", "200@18s", "503@6s,200")
		delete(p.Request.Headers, "host")
		out = append(out, p.Request)
	}
	return out
}

// Reduced is the smallest part of documents that still fails: without any one of its
// entries it does not.
func Reduced(t testing.TB, docs []map[string]any, fails func([]map[string]any) bool) []map[string]any {
	t.Helper()
	for before := -1; before != parts(docs); {
		before = parts(docs)
		for n := 0; n < parts(docs); {
			if smaller := without(t, docs, n); fails(smaller) {
				docs = smaller
			} else {
				n++
			}
		}
	}
	return docs
}
