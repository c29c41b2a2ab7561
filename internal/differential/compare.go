package differential

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

// disagreement says where the simulator and Envoy differ about p; it is empty
// where they agree. want is the route that sim takes, nil where it takes none.
func disagreement(w *World, p Pair, a *envoytest.Answer) (said string, taken *resolve.Route) {
	v, err := sim.Run(w.Model, w.Resolved.Ref, p.Request)
	if err != nil {
		return "sim: " + err.Error(), nil
	}
	if len(v.Branches) != 1 {
		return fmt.Sprintf("sim has %d branches for a world without chance", len(v.Branches)), nil
	}
	b := v.Branches[0]
	name := ""
	if b.Route != nil {
		name = b.Route.Name
		i := slices.IndexFunc(w.table().Routes, func(r *resolve.Route) bool { return r.Name == name })
		taken = w.table().Routes[i]
	}
	if a.Route != name {
		return fmt.Sprintf("route: sim %q, Envoy %q (status %d)", name, a.Route, a.Status), taken
	}
	switch b.Outcome {
	case sim.Forward:
		said = forwarded(w, p, a, &b, taken)
	case sim.Redirect:
		said = answered(a, &b)
		if got := a.Headers.Get("Location"); said == "" && got != b.Location {
			said = fmt.Sprintf("redirect: sim to %s, Envoy to %s", b.Location, got)
		}
	default:
		said = answered(a, &b)
	}
	if said == "" {
		said = response(a, &b)
	}
	return said, taken
}

// answered compares what the proxy answers by itself.
func answered(a *envoytest.Answer, b *sim.Branch) string {
	status := int(b.Status)
	if b.GRPCStatus != nil {
		if got := a.Headers.Get("Grpc-Status"); got != fmt.Sprint(*b.GRPCStatus) {
			return fmt.Sprintf("grpc status: sim %d, Envoy %s", *b.GRPCStatus, got)
		}
		return ""
	}
	if a.Status != status {
		return fmt.Sprintf("answer: sim %d, Envoy %d", status, a.Status)
	}
	return ""
}

// forwarded compares the backend that Envoy chose, the request as it got it,
// and how often.
func forwarded(w *World, p Pair, a *envoytest.Answer, b *sim.Branch, taken *resolve.Route) string {
	var chosen *sim.Backend
	n := 0
	for _, x := range taken.Backends {
		if x.Weight == 0 {
			continue
		}
		if x.Cluster == a.Cluster {
			chosen = &b.Backends[n]
			break
		}
		n++
	}
	if chosen == nil || chosen.Share <= 0 {
		return fmt.Sprintf("backend: Envoy chose %q (status %d), sim has %+v", a.Cluster, a.Status, b.Backends)
	}
	if a.Cluster == "" { // the share that cannot be used
		if chosen.Status != 500 || a.Status != 500 && a.Headers.Get("Grpc-Status") == "" || len(a.Attempts) > 0 {
			return fmt.Sprintf("broken share: sim %+v, Envoy %d after %d attempts", chosen, a.Status, len(a.Attempts))
		}
		return ""
	}
	if said := played(w, p, a); said != "" {
		return said
	}
	want := b.Forwarded
	if chosen.Forwarded != nil {
		want = chosen.Forwarded
	}
	for i, got := range a.Attempts {
		if got.Method != want.Method || got.Authority != want.Authority || got.Path != want.Path {
			return fmt.Sprintf("attempt %d: sim %s %s%s, Envoy %s %s%s", i, want.Method, want.Authority, want.Path, got.Method, got.Authority, got.Path)
		}
		if d := cmp.Diff(map[string]string(want.Headers), own(got.Headers)); d != "" {
			return fmt.Sprintf("attempt %d headers (-sim +Envoy):\n%s", i, d)
		}
	}
	return ""
}

// copied compares how many copies the mirror got once they have had the time to
// arrive: exactly as many as are certain, and no more than are possible.
func copied(w *World, p Pair, got int) string {
	v, err := sim.Run(w.Model, w.Resolved.Ref, p.Request)
	if err != nil {
		return "sim: " + err.Error()
	}
	certain, possible := 0, 0
	for _, x := range v.Branches[0].Mirrors {
		possible++
		if x.Share == 1 {
			certain++
		}
	}
	if got < certain || got > possible {
		return fmt.Sprintf("mirrors: sim %+v, Envoy sent %d copies", v.Branches[0].Mirrors, got)
	}
	return ""
}

// own are a request's headers without what Envoy adds.
func own(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-envoy-") || slices.Contains([]string{"x-request-id", "x-forwarded-proto", "content-length", "transfer-encoding"}, name) {
			continue
		}
		out[name] = strings.Join(values, "\n")
	}
	return out
}

// played compares how often the request was sent and how it ended.
func played(w *World, p Pair, a *envoytest.Answer) string {
	line, err := sim.Play(w.Model, w.Resolved.Ref, p.Request, answers(p.Script, isGRPC(p)))
	if err != nil {
		return "play: " + err.Error()
	}
	for _, e := range line.Ends {
		if e.Attempts == len(a.Attempts) && (int(e.Status) == a.Status || isGRPC(p) && a.Status == 200) {
			return ""
		}
	}
	return fmt.Sprintf("in time: sim %+v, Envoy %d after %d attempts", line.Ends, a.Status, len(a.Attempts))
}

func isGRPC(p Pair) bool {
	return strings.HasPrefix(p.Request.Headers["content-type"], "application/grpc")
}

// response compares the headers of the answer with what the route does to them.
func response(a *envoytest.Answer, b *sim.Branch) string {
	want := map[string][]string{}
	if a.Answered > 0 {
		for name, v := range backendHeaders {
			want[name] = []string{v}
		}
	}
	if c := b.ResponseHeaders; c != nil {
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
	got := map[string][]string{}
	for _, name := range []string{"x-back", "x-c", "x-d"} {
		if v := a.Headers.Values(name); v != nil {
			got[name] = v
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		return "response headers (-sim +Envoy):\n" + d
	}
	return ""
}
