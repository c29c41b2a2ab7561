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
)

// about are the notes about rules that say that something is not as it was.
func (a *agreement) about(rules []route.Place) []api.Note {
	var out []api.Note
	for _, n := range a.result.Notes {
		if n.Severity != api.Info && n.Field != "" && slices.Contains(rules, route.Place{Ref: n.Origin.Ref, Field: n.Field}) && !strings.HasPrefix(n.Code, "Balancing") {
			out = append(out, n)
		}
	}
	return out
}

// nowhere reports whether something is said to be left out as a whole.
func (a *agreement) nowhere() bool {
	return slices.ContainsFunc(a.result.Notes, func(n api.Note) bool { return n.Severity == api.Error && !strings.Contains(n.Message, "its requests") })
}

// unplaced reports whether it is said that a host, or one that covers it, is not written.
func (a *agreement) unplaced(authority string) bool {
	return slices.ContainsFunc(a.result.Notes, func(n api.Note) bool {
		hosts, _, _ := strings.Cut(strings.Replace(n.Message, " is for names", ":", 1), ":")
		return n.Code == route.UnsaidPlace && slices.ContainsFunc(strings.Split(hosts, ", "), func(host string) bool {
			return api.HostCovers(host, authority)
		})
	})
}

func (a *agreement) told(code string) bool {
	return slices.ContainsFunc(a.result.Notes, func(n api.Note) bool { return n.Code == code })
}

// promised says where a request goes otherwise than the notes about its rule say.
func (a *agreement) promised(notes []api.Note, is *sim.Verdict) string {
	by := []string{"no rule"}
	if origins := originsOf(is); len(origins) > 0 && a.from[origins[len(origins)-1]] != nil {
		by = slices.Compact(slices.Sorted(slices.Values(a.from[origins[len(origins)-1]])))
	}
	var messages []string
	for _, n := range notes {
		messages = append(messages, fmt.Sprintf("%s %s: %s", n.Origin.FullName(), n.Field, n.Message))
		_, takers, left := strings.Cut(n.Message, "its requests come to ")
		names := append(strings.Split(takers, ", "), fmt.Sprintf("%s of %s", n.Field, n.Origin.FullName()))
		if !left || slices.ContainsFunc(by, func(s string) bool {
			return slices.Contains(names, s) || slices.Contains(names, "others") ||
				strings.HasPrefix(s, "authority ") && (slices.Contains(names, "no rule") || slices.Contains(names, "what no rule takes")) ||
				s == "an answer of 500" && slices.ContainsFunc(a.result.Notes, func(n api.Note) bool { return strings.Contains(n.Message, "are answered with 500 instead") })
		}) {
			return ""
		}
	}
	return fmt.Sprintf("they come to %q, and it is said:\n%s", by, strings.Join(messages, "\n"))
}

// limits says where requests that shared a bucket do not any more, or the other way round.
func (a *agreement) limits(was, is *sim.Verdict) string {
	x, y := bucket(was), bucket(is)
	for i, pair := range [][2]string{{x, y}, {y, x}} {
		if known, seen := a.buckets[i][pair[0]]; seen && known != pair[1] {
			return fmt.Sprintf("the bucket was %s and is %s, and one of them is another's: %s", x, y, known)
		}
		a.buckets[i][pair[0]] = pair[1]
	}
	return ""
}

// bucket is whose rate limits a request; empty for none.
func bucket(v *sim.Verdict) string {
	said := v.Branches[0].Policies["MeshRateLimit"].Why["local.http.requestRate"]
	if len(said) == 0 || said[len(said)-1].Origin == nil {
		return ""
	}
	o := said[len(said)-1].Origin
	return fmt.Sprintf("%s %s at %s:%d", o.Ref, o.Field, v.Destination.Name, v.Destination.Port)
}

// view is what becomes of a request, in words that both meshes have.
type view struct {
	Outcome        sim.Outcome
	Status         uint32
	GRPC           *uint32
	Location, Body string
	Backends       map[string]string // shares
	Authorization  []*route.Authorization
	Answer         *sim.ResponseHeaders
	Mirrors        []string
	Policies       map[string]string
	Ends           []sim.EndOfAll
}

func (v view) text() string { return asText(v) }

func asText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // verdicts are made to be written
	}
	return string(text)
}

// seen is the view of a verdict on a request to an authority.
func seen(v *sim.Verdict, authority string, a *agreement) view {
	b := &v.Branches[0]
	out := view{Outcome: b.Outcome, Status: b.Status, GRPC: b.GRPCStatus, Body: b.Body, Authorization: b.Authorization, Answer: b.ResponseHeaders, Ends: b.Ends,
		Location: located(b.Location, authority), Backends: map[string]string{}, Policies: map[string]string{}}
	shares, lost := map[string]float64{}, 0.0
	for i := range b.Backends {
		x := &b.Backends[i]
		switch sent := sentTo(x.Forwarded, b.Forwarded); {
		case x.Share == 0:
		case x.Status != 0 && a.told("MissingBackend"):
			lost += x.Share
		case x.Status != 0:
			shares[fmt.Sprintf("an answer of %d", x.Status)] += x.Share
		default:
			f := *sent
			if f.Authority == authority {
				f.Authority = "as asked"
			}
			shares[asText([]any{x.Name, x.Namespace, x.Tags, x.Port, f, x.ResponseHeaders})] += x.Share
		}
	}
	for name, share := range shares {
		out.Backends[name] = fmt.Sprintf("%.9f", share/(1-lost))
	}
	own := b.Outcome == sim.Respond && b.Body == "" && (b.Status == 500 || b.Status == 503) && len(b.Backends) == 0
	if lost == 1 || own && a.told("MissingBackend") { // of backends that are not there: each language has its answer
		out.Outcome, out.Status, out.GRPC, out.Ends = "missing", 0, nil, nil
	}
	for _, x := range b.Mirrors {
		share := x.Share
		if a.told("MissingBackend") { // of requests that a missing backend does not get there are no copies
			share = 1
		}
		out.Mirrors = append(out.Mirrors, asText([]any{x.Name, x.Namespace, x.Tags, x.Port, share}))
	}
	slices.Sort(out.Mirrors)
	for kind, p := range b.Policies {
		if b.Outcome == sim.Forward || kind == "MeshRateLimit" { // else it does nothing
			out.Policies[kind] = asText(p.Conf)
		}
	}
	return out
}

func sentTo(own, all *sim.Forwarded) *sim.Forwarded {
	switch {
	case own != nil:
		return own
	case all != nil:
		return all
	}
	return &sim.Forwarded{}
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
