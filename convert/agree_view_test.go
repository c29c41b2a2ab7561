package convert_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/differential"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// view is what becomes of a request, in words that both meshes have.
type view struct {
	Outcome        sim.Outcome
	Status         uint32
	GRPC           *uint32
	Location, Body string
	Backends       map[string]string // shares
	Authorization  []*route.Authorization
	Answer         *wire.ResponseHeaders
	Mirrors        []string
	Policies       map[string]string
	Ends           []timeline.EndOfAll
}

func asText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // verdicts are made to be written
	}
	return string(text)
}

// seen is the view of a branch of what becomes of a request to an authority, without what
// codes forgive.
func seen(b *sim.Branch, authority string, forgiven []string) view {
	missing := slices.Contains(forgiven, "MissingBackend")
	out := view{Outcome: b.Outcome, Status: b.Status, GRPC: b.GRPCStatus, Body: b.Body, Authorization: b.Authorization, Answer: b.ResponseHeaders, Ends: b.Ends,
		Location: located(b.Location, authority), Backends: map[string]string{}, Policies: map[string]string{}}
	if h := b.ResponseHeaders; b.Body != "" && h != nil && len(h.Set) == 1 && h.Set["content-type"] == "text/plain" && len(h.Add)+len(h.Remove) == 0 {
		out.Answer = nil // which Envoy says of a body itself
	}
	shares, lost := map[string]float64{}, 0.0
	for i := range b.Backends {
		x := &b.Backends[i]
		switch {
		case x.Share == 0:
		case x.Status != 0 && missing:
			lost += x.Share
		case x.Status != 0:
			shares[fmt.Sprintf("an answer of %d", x.Status)] += x.Share
		default:
			shares[called(x, b.Forwarded, authority, forgiven)] += x.Share
		}
	}
	for name, share := range shares {
		out.Backends[name] = fmt.Sprintf("%.9f", share/(1-lost))
	}
	own := b.Outcome == sim.Respond && b.Body == "" && (b.Status == 500 || b.Status == 503) && len(b.Backends) == 0
	for _, x := range b.Mirrors {
		share := x.Share
		if missing { // of requests that a missing backend does not get there are no copies
			share = 1
		}
		out.Mirrors = append(out.Mirrors, asText([]any{x.Name, x.Namespace, x.Tags, x.Port, share}))
	}
	slices.Sort(out.Mirrors)
	if lost == 1 || own && missing { // of backends that are not there: each language has its answer
		out.Outcome, out.Status, out.GRPC, out.Ends = "missing", 0, nil, nil
		return out
	}
	for kind, p := range b.Policies {
		if b.Outcome == sim.Forward || kind == "MeshRateLimit" { // else it does nothing
			if text := confText(kind, p.Conf, forgiven); text != "" {
				out.Policies[kind] = text
			}
		}
		if b.Outcome == sim.Respond && slices.Contains(forgiven, "PoliciesAct") {
			delete(out.Policies, kind)
		}
	}
	return out
}

// called is a backend with how it is asked.
func called(x *sim.Backend, all *wire.Forwarded, authority string, forgiven []string) string {
	f := *sentTo(x.Forwarded, all)
	if f.Authority == authority {
		f.Authority = "as asked"
	}
	balance, http2 := x.Balance, x.HTTP2
	if slices.Contains(forgiven, "BalancingNotExpressible") {
		balance = ""
	}
	if slices.Contains(forgiven, "ProtocolNotExpressible") {
		http2 = false
	}
	return asText([]any{x.Name, x.Namespace, x.Tags, x.Port, f, x.ResponseHeaders, balance, http2})
}

// confText is the conf of a policy of a kind, empty where it says nothing.
func confText(kind string, conf any, forgiven []string) string {
	var fields m
	if err := json.Unmarshal([]byte(asText(conf)), &fields); err != nil {
		panic(err) // confs are objects
	}
	for _, f := range forgiven {
		if at, ok := strings.CutPrefix(f, kind+" "); ok {
			drop(fields, strings.Split(at, "."))
		}
	}
	if slices.Contains(forgiven, "ConnectionsNotExpressible") {
		if delete(fields, "idleTimeout"); fields["connectionTimeout"] == "5s" { // the default where a policy says something else
			delete(fields, "connectionTimeout")
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return asText(fields)
}

// drop takes a field out of an object.
func drop(from m, at []string) {
	if inner, ok := from[at[0]].(m); ok && len(at) > 1 {
		drop(inner, at[1:])
		return
	}
	delete(from, at[0])
}

func sentTo(own, all *wire.Forwarded) *wire.Forwarded {
	switch {
	case own != nil:
		return own
	case all != nil:
		return all
	}
	return &wire.Forwarded{}
}

// located is a location where the host that was asked for has no name.
func located(location, authority string) string {
	at, err := url.Parse(location)
	if err != nil || location == "" {
		return location
	}
	host, _, _ := strings.Cut(authority, ":")
	if at.Hostname() == host {
		at.Host = "as-asked"
	}
	return at.String()
}

// shown are the routes of both meshes, and the notes.
func (a *agreement) shown(objects []*api.Object) string {
	out := ""
	for _, o := range slices.Concat(objects, a.result.Objects) {
		typ, _ := world.Catalog().Find(o.Kind)
		if typ.Route || typ.Policy {
			text, _ := decode.PrintYAML(world.Catalog(), o)
			out += "---\n" + string(text)
		}
	}
	for _, n := range a.result.Notes {
		out += fmt.Sprintf("%s %s %s %s: %s\n", n.Severity, n.Code, n.Origin.FullName(), n.Field, n.Message)
	}
	return out
}

// reduced says the same of as few routes as possible.
func reduced(t *testing.T, docs []m, from, to, kind string, n uint64, said string) string {
	var routes, others []m
	for _, doc := range docs {
		if typ, _ := world.Catalog().Find(doc["type"].(string)); typ.Route {
			routes = append(routes, doc)
		} else {
			others = append(others, doc)
		}
	}
	routes = differential.Reduced(t, routes, func(smaller []m) bool {
		again, _, _ := moved(nil, slices.Concat(smaller, others), from, to, kind, n)
		return again != "" && category(again) == category(said)
	})
	said, _, _ = moved(t, slices.Concat(routes, others), from, to, kind, n)
	return said
}

// category is the second line of what is said, as far as it is of one kind.
func category(said string) string {
	_, rest, _ := strings.Cut(said, "\n")
	return strings.Join(strings.Fields(rest)[:1], " ")
}
