package sim_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
)

// question is how a request goes over the wire.
func question(q sim.Request) envoytest.Question {
	_, rest, _ := strings.Cut(q.URL, "://")
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		at = len(rest)
	}
	out := envoytest.Question{Method: q.Method, Host: rest[:at], Path: rest[at:], Headers: http.Header{}}
	if !strings.HasPrefix(out.Path, "/") {
		out.Path = "/" + out.Path
	}
	for name := range q.Headers {
		if name == "host" {
			out.Host = q.Headers[name]
			continue
		}
		out.Headers[http.CanonicalHeaderKey(name)] = q.Headers.Values(name)
	}
	return out
}

// added are the headers that Envoy or the test's client puts into a request.
var added = []string{"x-forwarded-proto", "x-request-id", "x-envoy-expected-rq-timeout-ms", "x-envoy-original-path", "x-envoy-original-host",
	"x-envoy-internal", "content-length", "x-envoy-attempt-count", "accept-encoding"}

// disagreement is how verdict and answer differ; empty if they do not.
func disagreement(v sim.Verdict, a *envoytest.Answer) string {
	b := v.Branches[0]
	if b.Route == nil {
		// Envoy may still look up a route, to dress its own answer.
		if b.Outcome != sim.Respond || a.Status != int(b.Status) && (b.GRPCStatus == nil || a.Headers.Get("grpc-status") != fmt.Sprint(*b.GRPCStatus)) {
			return fmt.Sprintf("sim says %s %d, Envoy answers %d", b.Outcome, b.Status, a.Status)
		}
		return ""
	}
	if a.Route != b.Route.Name {
		return fmt.Sprintf("sim takes route %q, Envoy %q", b.Route.Name, a.Route)
	}
	response := b.ResponseHeaders
	for _, x := range b.Backends {
		if x.ResponseHeaders != nil && x.Name == a.Cluster {
			response = x.ResponseHeaders
		}
	}
	if why := wrongResponseHeaders(response, a); why != "" {
		return why
	}
	switch b.Outcome {
	case sim.Forward:
		return wrongForward(b, a)
	case sim.Redirect, sim.Respond:
		status := int(b.Status)
		if b.GRPCStatus != nil {
			status = 200
			if got := cmpText(a.Headers.Get("grpc-status"), a.Trailer.Get("grpc-status")); got != fmt.Sprint(*b.GRPCStatus) {
				return fmt.Sprintf("sim says gRPC status %d, Envoy %s", *b.GRPCStatus, got)
			}
		}
		if a.Status != status || len(a.Attempts) > 0 {
			return fmt.Sprintf("sim says %s %d, Envoy answers %d after %d attempts", b.Outcome, b.Status, a.Status, len(a.Attempts))
		}
		if b.GRPCStatus == nil && status != http.StatusNoContent && v.Request.Method != http.MethodHead && a.Body != b.Body {
			return fmt.Sprintf("sim says body %q, Envoy %q", b.Body, a.Body)
		}
		if got := a.Headers.Get("location"); got != b.Location {
			return fmt.Sprintf("sim says location %q, Envoy %q", b.Location, got)
		}
	}
	return ""
}

func cmpText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func wrongForward(b sim.Branch, a *envoytest.Answer) string {
	var clusters []string
	broken := uint32(0)
	for _, x := range b.Backends {
		if x.Status == 0 {
			clusters = append(clusters, x.Name)
		}
		broken = max(broken, x.Status)
	}
	if len(a.Attempts) == 0 {
		if broken != 0 && (a.Status == int(broken) || a.Headers.Get("grpc-status") == map[uint32]string{500: "2", 503: "14"}[broken]) {
			return ""
		}
		return fmt.Sprintf("sim forwards, Envoy answers %d", a.Status)
	}
	if !slices.Contains(clusters, a.Cluster) {
		return fmt.Sprintf("sim forwards to %v, Envoy to %s", clusters, a.Cluster)
	}
	got, want := a.Attempts[0], b.Forwarded
	for _, x := range b.Backends {
		if x.Forwarded != nil && x.Name == a.Cluster {
			want = x.Forwarded
		}
	}
	if got.Method != want.Method || got.Path != want.Path || got.Authority != want.Authority {
		return fmt.Sprintf("sim forwards %s %s %s, Envoy %s %s %s", want.Method, want.Authority, want.Path, got.Method, got.Authority, got.Path)
	}
	have := map[string][]string{}
	for name, values := range got.Headers {
		if name = strings.ToLower(name); !slices.Contains(added, name) || want.Headers.Values(name) != nil {
			have[name] = values
		}
	}
	wanted := map[string][]string{}
	for name := range want.Headers {
		wanted[name] = want.Headers.Values(name)
	}
	if !maps.EqualFunc(have, wanted, slices.Equal[[]string]) {
		return fmt.Sprintf("sim forwards headers %q, Envoy %q", wanted, have)
	}
	return ""
}

func wrongResponseHeaders(r *sim.ResponseHeaders, a *envoytest.Answer) string {
	if r == nil || a.Route == "" {
		return ""
	}
	for name := range r.Set {
		want := append([]string{r.Set[name]}, r.Add.Values(name)...)
		if got := a.Headers.Values(name); strings.Join(got, ",") != strings.Join(want, ",") {
			return fmt.Sprintf("sim sets answer header %s to %q, Envoy to %q", name, want, got)
		}
	}
	for name := range r.Add {
		got := strings.Join(a.Headers.Values(name), ",")
		if want := strings.Join(r.Add.Values(name), ","); !strings.HasSuffix(got, want) {
			return fmt.Sprintf("sim adds answer header %s %q, Envoy has %q", name, want, got)
		}
	}
	for _, name := range r.Remove {
		if got := a.Headers.Values(name); len(got) > 0 && r.Add.Values(name) == nil {
			return fmt.Sprintf("sim removes answer header %s, Envoy has %q", name, got)
		}
	}
	return ""
}
