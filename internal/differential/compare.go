package differential

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// disagreement says where a verdict and reality differ about p; it is empty
// where they agree.
func disagreement(w *World, p Pair, v *sim.Verdict, o *Observed) string {
	if len(v.Branches) != 1 {
		return fmt.Sprintf("sim has %d branches for a world without chance", len(v.Branches))
	}
	b := &v.Branches[0]
	if b.Route == nil { // Envoy may still look one up, to dress its own answer
		if grpc := o.Headers.Get("content-type") == "application/grpc"; grpc != (b.GRPCStatus != nil) {
			return fmt.Sprintf("answer: sim %d, by gRPC %v, Envoy %s, by gRPC %v", b.Status, b.GRPCStatus != nil, o.text(), grpc)
		}
		return answered(p, o, b.Status)
	}
	if b.Preflight { // which nothing dresses
		if said := answered(p, o, b.Status); said != "" || o.Route != "" {
			return fmt.Sprintf("preflight of route %q, Envoy %q: %s", b.Route.Name, o.Route, said)
		}
		return responseHeaders(b, o)
	}
	if o.Route != b.Route.Name && !(o.Route == "" && undressed(w.route(v), b)) {
		return fmt.Sprintf("route: sim %q, Envoy %q (%s)", b.Route.Name, o.Route, o.text())
	}
	said := ""
	switch b.Outcome {
	case sim.Forward:
		said = forwarded(w, p, b, o)
	case sim.Redirect:
		said = answered(p, o, b.Status)
		if got := o.Headers.Get("Location"); said == "" && got != b.Location {
			said = fmt.Sprintf("redirect: sim to %s, Envoy to %s", b.Location, got)
		}
	default:
		said = answered(p, o, b.Status)
		if said == "" {
			said = body(w.route(v), p, b, o)
		}
	}
	if said == "" {
		said = responseHeaders(b, o)
	}
	return said
}

// undressed reports whether a fault answers in the place of a route that answers by itself: then Envoy changes no
// headers of the answer, among which is the one that names the route.
func undressed(taken *effective.Route, b *sim.Branch) bool {
	return len(b.Faults) > 0 && b.Outcome == sim.Respond && taken.Answers() != nil
}

// body compares that of an answer which a route gives by itself. A status may have none.
func body(taken *effective.Route, p Pair, b *sim.Branch, o *Observed) string {
	do, ok := taken.Answers().(*route.Respond)
	if !ok && b.Body == "" || isGRPC(p) || p.Request.Method == http.MethodHead || b.Status == http.StatusNoContent {
		return ""
	}
	want := b.Body // a fault's, or else the route's
	if want == "" {
		want = do.Body
	}
	if o.Body == want {
		return ""
	}
	return fmt.Sprintf("body: sim %q, Envoy %q", want, o.Body)
}

// text is an answer in a few words.
func (o *Observed) text() string {
	if o.Status == 0 {
		return "no answer: " + o.Ended
	}
	text := fmt.Sprintf("status %d after %d attempts", o.Status, o.Tries)
	if g := o.grpcStatus(); g != "" {
		text += ", gRPC " + g
	}
	for _, c := range o.Attempts {
		text += ", at " + c.Workload
	}
	if o.Cut {
		text += ", broken off"
	}
	return text
}

func (o *Observed) grpcStatus() string {
	if s := o.Headers.Get("Grpc-Status"); s != "" {
		return s
	}
	return o.Trailer.Get("Grpc-Status")
}

func isGRPC(p Pair) bool {
	c := strings.Trim(strings.ReplaceAll(p.Request.Headers["content-type"], "\n", ","), ",")
	return c == "application/grpc" || strings.HasPrefix(c, "application/grpc+")
}

// grpcStatuses are the statuses of gRPC that a proxy's own answers have.
var grpcStatuses = map[uint32]string{400: "13", 401: "16", 403: "7", 404: "12", 429: "14", 502: "14", 503: "14", 504: "14"}

// answered compares what a proxy answers by itself.
func answered(p Pair, o *Observed, status uint32) string {
	if isGRPC(p) && o.Headers.Get("content-type") == "application/grpc" {
		want, ok := grpcStatuses[status]
		if !ok {
			want = "2"
		}
		if got := o.grpcStatus(); got != want || o.Status != http.StatusOK {
			return fmt.Sprintf("answer: sim gRPC %s for %d, Envoy %s", want, status, o.text())
		}
		return ""
	}
	if o.Status != int(status) || len(o.Attempts) > 0 {
		return fmt.Sprintf("answer: sim %d, Envoy %s", status, o.text())
	}
	return ""
}

// forwarded holds what became of the request against the shares of the traffic:
// chance chose one, so one of them has to explain it.
func forwarded(w *World, p Pair, b *sim.Branch, o *Observed) string {
	var reasons []string
	for i := range b.Backends {
		x := &b.Backends[i]
		if x.Share <= 0 {
			continue
		}
		why := ""
		if x.Status != 0 {
			why = answered(p, o, x.Status)
		} else {
			why = reached(w, p, b, x, o)
		}
		if why == "" {
			return ""
		}
		reasons = append(reasons, x.Name+": "+why)
	}
	return strings.Join(reasons, "\n")
}

// reached holds it against one backend.
func reached(w *World, p Pair, b *sim.Branch, x *sim.Backend, o *Observed) string {
	if w.dead(x) {
		return w.refused(p, x, o)
	}
	want := b.Forwarded
	if x.Forwarded != nil {
		want = x.Forwarded
	}
	for i, c := range o.Attempts {
		if !answersFor(x, c.Workload) {
			return fmt.Sprintf("attempt %d came to %s", i, c.Workload)
		}
		if p.Request.Answers == "" && !takes(x, c.Workload) {
			return fmt.Sprintf("attempt %d came to %s, although its sidecar does not take it", i, c.Workload)
		}
		if c.Method != want.Method || c.Authority != want.Authority || c.Path != want.Path {
			return fmt.Sprintf("attempt %d: sim %s %s %s, the workload got %s %s %s", i, want.Method, want.Authority, want.Path, c.Method, c.Authority, c.Path)
		}
		if c.Body != p.Request.Body {
			return fmt.Sprintf("attempt %d: a body of %d bytes, sent were %d", i, c.Body, p.Request.Body)
		}
		got, wanted := own(c.Headers, want.Headers), comparable(want.Headers)
		if name := proved(x, c.Workload); name != "" { // which its sidecar writes in place of what came
			if v := got[callerHeader]; strings.Contains(v, ",") || !strings.Contains(v, ";URI="+name) {
				return fmt.Sprintf("attempt %d: sim says that it is from %s, the workload is told %q", i, name, v)
			}
			delete(got, callerHeader)
			delete(wanted, callerHeader)
		}
		if len(w.Resolved.Edges) > 0 {
			withoutClient(got)
		}
		if d := cmp.Diff(wanted, got); d != "" {
			return fmt.Sprintf("attempt %d headers (-sim +workload):\n%s", i, d)
		}
	}
	if o.Status == http.StatusSwitchingProtocols {
		if o.Echo != "hello" || len(o.Attempts) != 1 {
			return "the WebSocket does not work: " + o.text()
		}
		return ""
	}
	if len(o.Attempts) == 0 && o.Tries > 0 {
		return untaken(p, b, x, o)
	}
	return inTime(p, endsAt(b, x, o), o, len(o.Attempts))
}

// callerHeader is the header by which a workload is told who called it.
const callerHeader = "x-forwarded-client-cert"

// proved is who a request comes from to a workload behind x; empty where nobody has proved it.
func proved(x *sim.Backend, workload string) string {
	for _, in := range x.Inbounds {
		if slices.Contains(in.Names, workload) && in.Permission != nil && in.Protocol.HTTPLike() {
			return in.Permission.Identity
		}
	}
	return ""
}

// withoutClient takes the address of the client from the end of x-forwarded-for, where an
// edge dataplane puts it: no request of the simulator has it.
func withoutClient(headers map[string]string) {
	sent := strings.LastIndexAny(headers["x-forwarded-for"], ",\n")
	if sent < 0 {
		delete(headers, "x-forwarded-for")
		return
	}
	headers["x-forwarded-for"] = headers["x-forwarded-for"][:sent]
}

// untaken holds it against a backend of whose sidecars some do not take the request.
func untaken(p Pair, b *sim.Branch, x *sim.Backend, o *Observed) string {
	for i := range x.Inbounds {
		in := &x.Inbounds[i]
		if in.Outcome == sim.Forward {
			continue
		}
		ends := b.Ends
		if ends == nil {
			ends = in.Ends
		}
		if ends != nil && inTime(p, ends, o, o.Tries) == "" || ends == nil && answered(p, o, in.Status) == "" {
			return ""
		}
	}
	return fmt.Sprintf("it did not get to a workload: sim %+v, Envoy %s", x.Inbounds, o.text())
}

// answersFor reports whether a workload is one of those behind x; those outside
// the mesh are called as their service.
func answersFor(x *sim.Backend, workload string) bool {
	if len(x.Inbounds) == 0 {
		return x.Name == workload || x.Kind == api.KindAddress && strings.Contains(x.Name, workload)
	}
	return slices.ContainsFunc(x.Inbounds, func(in sim.Inbound) bool { return slices.Contains(in.Names, workload) })
}

// takes reports whether the sidecar of a workload behind x hands the request on.
func takes(x *sim.Backend, workload string) bool {
	return !slices.ContainsFunc(x.Inbounds, func(in sim.Inbound) bool { return in.Outcome != sim.Forward && slices.Contains(in.Names, workload) })
}

// dead reports whether nobody listens where the sidecars of x send requests.
func (w *World) dead(x *sim.Backend) bool {
	return len(x.Inbounds) > 0 && !slices.ContainsFunc(x.Inbounds, func(in sim.Inbound) bool {
		return !slices.ContainsFunc(in.Names, func(name string) bool { return w.servicePort(name) == deadPort })
	})
}

// deadPort is where no workload listens.
const deadPort = 1

func (w *World) servicePort(dataplane string) int {
	for _, doc := range w.Documents {
		if doc["type"] == "Dataplane" && doc["name"] == dataplane {
			networking, _ := doc["networking"].(m)
			for _, in := range list(networking["inbound"]) {
				switch port := in["servicePort"].(type) {
				case int:
					return port
				case float64: // read from JSON
					return int(port)
				}
			}
		}
	}
	return 0
}
