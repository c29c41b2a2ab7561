package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/balance"
	"github.com/weftmesh/weft/sim/permission"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// arrive makes of the request that the caller's sidecar sends the one that the
// workloads get: their own sidecars read it anew, as that of the caller did.
func (b *Branch) arrive(c *wire.NormalizedRequest) {
	for i := range b.Backends {
		x := &b.Backends[i]
		if x.Status != 0 || x.Share == 0 {
			continue
		}
		sent := b.sentTo(i)
		answers := sent.Over(x.http2).Refusals(c, x.http2)
		if len(answers) > 1 && slices.ContainsFunc(x.Inbounds, Inbound.reads) {
			b.unknown = append(b.unknown, wire.UnknownFraming)
			answers = []uint32{0}
		}
		forms := x.forms(sent, answers[0])
		if len(forms) > 1 {
			b.unknown = append(b.unknown, "forwarded: the dataplanes of "+x.Name+" get it in different forms, for their sidecars read different protocols")
			continue
		}
		if wire.UpgradeOf(sent.Headers) == wire.WebSocket && slices.ContainsFunc(forms, func(f *wire.Forwarded) bool { return f.Method == http.MethodConnect }) {
			b.unknown = append(b.unknown, SocketInHTTP2)
		}
		if len(forms) == 1 && !forms[0].Same(sent) {
			b.send(i, forms[0])
		}
	}
}

// sentTo is the request that backend n gets.
func (b *Branch) sentTo(n int) *wire.Forwarded {
	if own := b.Backends[n].Forwarded; own != nil {
		return own
	}
	return b.Forwarded
}

// send gives backend n a request of its own.
func (b *Branch) send(n int, f *wire.Forwarded) {
	if len(b.Backends) == 1 {
		b.Forwarded = f
	} else {
		b.Backends[n].Forwarded = f
	}
}

// asks notes what rt asks the service, and that nobody said what it answers.
func (b *Branch) asks(rt *effective.Route, c *wire.NormalizedRequest) {
	b.Authorization = route.Authorizations(rt.Filters)
	if c.Authz != "" || len(b.Authorization) == 0 {
		return
	}
	names := make([]string, len(b.Authorization))
	for i, a := range b.Authorization {
		names[i] = a.String()
	}
	b.unknown = append(b.unknown, "authorization: the service decides "+strings.Join(names, " and ")+"; shown is what happens to a request that it lets pass as it is")
}

// limited tells what the request counts against.
func (b *Branch) limited(c *wire.NormalizedRequest, t *effective.Table, rt *effective.Route) {
	if b.ClientLimit = clientLimit(c, t, rt); b.ClientLimit != nil && c.Outside && b.ClientLimit.Client["x-forwarded-for"] != "" {
		b.unknown = append(b.unknown, "clientLimit: the listener adds the address of who is connected to x-forwarded-for, by which the client is told")
	}
}

// changeForCORS is what the CORS policy of rt makes of its answers: it is the last to change
// them.
func (b *Branch) changeForCORS(rt *effective.Route, c *wire.NormalizedRequest) {
	of := route.CORSOf(rt.Filters)
	if of == nil || !forwards(rt) {
		return
	}
	set := allowedOrigin(c, of)
	if len(set) > 0 && len(of.Expose) > 0 {
		set[route.ExposeHeaders] = strings.Join(of.Expose, ", ")
	}
	b.ResponseHeaders = b.ResponseHeaders.With(set)
	for i := range b.Backends {
		if x := &b.Backends[i]; x.ResponseHeaders != nil {
			x.ResponseHeaders = x.ResponseHeaders.With(set)
		}
	}
}

// authorized puts what was decided about the branch's requests into it, and makes one branch for
// each decision where the dataplanes that may be called decide differently.
func (b Branch) authorized(c *wire.NormalizedRequest) []Branch {
	type part struct {
		key     string
		share   float64
		backend []float64 // of each
	}
	var parts []*part
	add := func(key string, n int, share float64) {
		i := slices.IndexFunc(parts, func(p *part) bool { return p.key == key })
		if i < 0 {
			i = len(parts)
			parts = append(parts, &part{key: key, backend: make([]float64, len(b.Backends))})
		}
		parts[i].share += share
		parts[i].backend[n] += share
	}
	there := false
	for n := range b.Backends {
		x := &b.Backends[n]
		rest := x.Share
		for k := range x.Inbounds {
			in := &x.Inbounds[k]
			add(in.decision(), n, x.Share*in.Share)
			rest -= x.Share * in.Share
			there = there || in.Permission != nil || in.Reason != ""
		}
		if rest > 1e-9 {
			add("", n, rest)
		}
	}
	if !there {
		return []Branch{b}
	}
	var out []Branch
	for _, p := range parts {
		one := b
		one.Probability *= p.share
		one.Backends = nil
		for n := range b.Backends {
			if p.backend[n] == 0 {
				continue
			}
			x := b.Backends[n]
			x.Inbounds = nil
			for _, in := range b.Backends[n].Inbounds {
				if in.decision() == p.key {
					in.Share *= b.Backends[n].Share / p.backend[n]
					x.Inbounds = append(x.Inbounds, in)
				}
			}
			x.Share = p.backend[n] / p.share
			one.Backends = append(one.Backends, x)
		}
		if !slices.ContainsFunc(one.Backends, func(x Backend) bool { return x.called() }) {
			one.Attempts, one.Ends = nil, nil // those of who may be called
		}
		one.decided(c)
		out = append(out, one)
	}
	return out
}

// decided takes over what all inbounds of the branch have decided.
func (b *Branch) decided(c *wire.NormalizedRequest) {
	for _, x := range b.Backends {
		for _, in := range x.Inbounds {
			if in.Permission == nil && in.Reason == "" {
				continue
			}
			b.Permission, b.Reason = in.Permission, in.Reason
			if !in.denied() && in.Reason == "" {
				return
			}
			b.Forwarded = nil
			if b.Outcome = in.Outcome; b.Outcome == Respond && c != nil {
				own := respond(c, in.Status)
				b.Status, b.GRPCStatus = own.Status, own.GRPCStatus
			} else {
				b.Status = in.Status
			}
			return
		}
	}
}

// doubtEndpoint says where a hash decides which endpoint answers: the shares of the
// called dataplanes are those of all requests together, and not of this one.
func (t trace) doubtEndpoint(b *Branch, rt *effective.Route) {
	for _, x := range rt.Backends {
		if x.Gets() && x.Balance.SlowStart > 0 {
			b.unknown = append(b.unknown, "balance: endpoints of "+x.Name+" that are new have less than their share for "+x.Balance.SlowStart.String())
		}
	}
	if !slices.ContainsFunc(rt.Backends, func(x effective.Backend) bool { return x.Gets() && balance.Hashes(t.from, &x) }) {
		return
	}
	keys := balance.Hash(rt)
	if len(keys) == 0 {
		return // it is chance
	}
	b.unknown = append(b.unknown, "balance: a hash of "+route.HashText(keys)+" decides which endpoint answers; requests with the same come to the same, and the shares are those of all")
	for _, k := range keys {
		if k.Session {
			b.unknown = append(b.unknown, "balance: an answer to a request without cookie "+k.Cookie+" sets it")
		}
	}
}

// plainHost is a host that nobody refuses.
var plainHost = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)

// doubtHost says where a header gives a host that may be refused on the way.
func (b *Branch) doubtHost(w *route.Rewrite) {
	if w == nil || w.HostHeader == "" {
		return
	}
	sent := []*wire.Forwarded{b.Forwarded}
	for i := range b.Backends {
		sent = append(sent, b.Backends[i].Forwarded)
	}
	for _, f := range sent {
		if f != nil && !plainHost.MatchString(f.Authority) {
			b.unknown = append(b.unknown, fmt.Sprintf("host: whether %q from header %s passes depends on what the backend speaks", f.Authority, w.HostHeader))
			return
		}
	}
}

// settle makes an answer of what would be forwarded where nobody can take it.
func (b *Branch) settle(c *wire.NormalizedRequest) {
	status := uint32(0)
	for _, x := range b.Backends {
		if x.Share == 0 {
			continue
		}
		if x.Status == 0 || status != 0 && status != x.Status {
			return
		}
		status = x.Status
	}
	if status == 0 {
		status = http.StatusInternalServerError // no backend at all
	}
	own := respond(c, status)
	b.Outcome, b.Status, b.GRPCStatus, b.Forwarded = own.Outcome, own.Status, own.GRPCStatus, nil
	b.Mirrors = nil // Envoy copies what it sends somewhere
}

// forget leaves out the backends that get none of the branch's requests. What the
// only one of the others gets is what the branch forwards.
func (b *Branch) forget() {
	b.Backends = slices.DeleteFunc(b.Backends, func(x Backend) bool { return x.Share == 0 })
	if len(b.Backends) == 1 {
		x := &b.Backends[0]
		b.ResponseHeaders = cmp.Or(x.ResponseHeaders, b.ResponseHeaders)
		if b.Outcome == Forward {
			b.Forwarded = cmp.Or(x.Forwarded, b.Forwarded)
		}
		x.Forwarded, x.ResponseHeaders = nil, nil
	}
	if b.ResponseHeaders.Empty() {
		b.ResponseHeaders = nil
	}
	for i := range b.Backends {
		if x := &b.Backends[i]; b.ResponseHeaders == nil && x.ResponseHeaders.Empty() {
			x.ResponseHeaders = nil
		}
	}
}

// answers is what becomes of header changes on an answer of the proxy's own: it
// has no content type without a body and gRPC's own to a gRPC client, and a
// location is a header like others.
func (b *Branch) answers(h *wire.ResponseHeaders) {
	if h == nil {
		return
	}
	if b.Body == "" || b.GRPCStatus != nil {
		delete(h.Set, "content-type")
		delete(h.Add, "content-type")
	}
	if l, ok := h.Set["location"]; b.Outcome == Redirect && (ok || slices.Contains(h.Remove, "location")) {
		b.Location = l
	}
	if b.Outcome == Redirect {
		b.Location = wire.Joined(append([]string{b.Location}, h.Add.Values("location")...)...)
	}
}

// Branch is one alternative of a random decision; their probabilities add up to 1.
type Branch struct {
	Probability float64 `json:"probability"`
	// Draws are those of the request by which it comes to this; none where there is
	// one branch.
	Draws   []wire.Span `json:"draws,omitempty"`
	Outcome Outcome     `json:"outcome"`
	Status  uint32      `json:"status,omitempty"`
	// Reason is why the sidecar that is called answers, though nobody was asked who calls, or why the
	// proxy itself has nobody to send to.
	Reason     string  `json:"reason,omitempty"`
	GRPCStatus *uint32 `json:"grpcStatus,omitempty"`
	Location   string  `json:"location,omitempty"`
	Body       string  `json:"body,omitempty"` // of an answer of the proxy's own
	// Preflight says that the answer is that to a preflight of a browser.
	Preflight bool   `json:"preflight,omitempty"`
	Route     *Route `json:"route,omitempty"`
	// Authorization is what the authorization service is asked about the request.
	Authorization []*route.Authorization `json:"authorization,omitempty"`
	// ClientLimit is what it counts against, before anything else is asked.
	ClientLimit *ClientLimit `json:"clientLimit,omitempty"`
	// Observed is who comes to know of it, by what policies on the route say.
	Observed []string `json:"observed,omitempty"`
	// Faults are those that it meets, injected by policies on the route, in words.
	Faults []string `json:"faults,omitempty"`
	// Delay is how long it waits then.
	Delay           api.Duration          `json:"delay,omitzero"`
	Backends        []Backend             `json:"backends,omitempty"`
	Forwarded       *wire.Forwarded       `json:"forwarded,omitempty"`
	ResponseHeaders *wire.ResponseHeaders `json:"responseHeaders,omitempty"`
	Mirrors         []Mirror              `json:"mirrors,omitempty"`
	Policies        map[string]Policy     `json:"policies,omitempty"`
	// Permission is what the called side decides about who calls, where callers prove who they
	// are. Dataplanes that decide differently are branches of their own.
	Permission *permission.Permission `json:"permission,omitempty"`
	// Attempts and Ends are what happens in time if the backends do what Answers
	// says; none where the called dataplanes differ, and then they have their own.
	Attempts []timeline.Attempt  `json:"attempts,omitempty"`
	Ends     []timeline.EndOfAll `json:"ends,omitempty"`

	unknown []string // for the verdict
}

// SocketInHTTP2 is what a verdict on a WebSocket does not know where workloads are asked
// for it in HTTP/2.
const SocketInHTTP2 = "answers: some workloads are asked for the WebSocket in HTTP/2 (RFC 8441), which few servers understand"
