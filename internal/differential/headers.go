package differential

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// own are a request's headers without what Envoy adds to those that are wanted.
func own(h http.Header, wanted wire.Headers) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		name = strings.ToLower(name)
		if _, ok := wanted[name]; !ok && (strings.HasPrefix(name, "x-envoy-") || slices.Contains(added, name)) {
			continue
		}
		out[name] = strings.Join(values, "\n")
	}
	return comparable(out)
}

// comparable are headers without the length of the body, which is compared itself,
// and what the test itself says by them, and with cookies in the one form that a server
// of Go makes of them.
func comparable(h map[string]string) map[string]string {
	out := maps.Clone(h)
	for _, name := range []string{"content-length", envoytest.IDHeader, envoytest.ScriptHeader, envoytest.AnswerHeader} {
		delete(out, name)
	}
	if v, ok := out["cookie"]; ok {
		out["cookie"] = strings.TrimRight(strings.ReplaceAll(v, "\n", "; "), "; ")
	}
	return out
}

// added are headers that sidecars give each request, and those by which tracers tell each other of it,
// which the simulator does not show (spec/kinds.md 9).
var added = []string{"x-request-id", "x-forwarded-proto", "content-length", "transfer-encoding", envoytest.UserHeader,
	"x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid", "x-b3-sampled", "traceparent", "tracestate", "x-datadog-trace-id", "x-datadog-parent-id", "x-datadog-sampling-priority"}

// proxys are the headers of an answer that proxies write.
var proxys = []string{"server", "date", "location", "content-length", "transfer-encoding", "connection", "grpc-status", "grpc-message", "trailer", "upgrade", "x-request-id",
	envoytest.RouteHeader, envoytest.ClusterHeader, envoytest.NameHeader}

// responseHeaders compares those of the answer with what happens to all answers of
// the route, or to those of the backend that was drawn; of an answer of the proxy's own
// nobody knows which.
func responseHeaders(b *sim.Branch, o *Observed) string {
	said := headersAfter(b, b.ResponseHeaders, o)
	for i := range b.Backends {
		x := &b.Backends[i]
		if n := len(o.Attempts); x.ResponseHeaders == nil || n > 0 && !answersFor(x, o.Attempts[n-1].Workload) {
			continue
		}
		own := headersAfter(b, x.ResponseHeaders, o)
		if own == "" || len(o.Attempts) > 0 {
			return own
		}
	}
	return said
}

// headersAfter compares them with what changes do.
func headersAfter(b *sim.Branch, changes *wire.ResponseHeaders, o *Observed) string {
	want := map[string][]string{}
	if o.Headers.Get(envoytest.NameHeader) != "" {
		want[envoytest.BackHeader] = []string{"b"}
	}
	if c := changes; c != nil {
		for _, name := range c.Remove {
			delete(want, name)
		}
		for name, v := range c.Set {
			want[name] = []string{v}
		}
		for name := range c.Add {
			want[name] = append(want[name], c.Add.Values(name)...)
		}
	}
	if b.Outcome == sim.Redirect { // compared already
		delete(want, "location")
	}
	got := map[string][]string{}
	for name, values := range o.Headers {
		name = strings.ToLower(name)
		_, wanted := want[name]
		if wanted || !slices.Contains(proxys, name) && !strings.HasPrefix(name, "x-envoy-") {
			got[name] = values
		}
	}
	if changes == nil || changes.Set["content-type"] == "" || o.Headers.Get(envoytest.NameHeader) == "" { // an answer has its own, or none
		delete(got, "content-type")
		delete(want, "content-type")
	}
	if d := cmp.Diff(want, got); d != "" {
		return "response headers (-sim +Envoy):\n" + d
	}
	return ""
}
