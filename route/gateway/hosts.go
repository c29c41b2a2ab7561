package gateway

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// stand is where an entry for a host stands.
type stand struct {
	gateway  *api.Object
	listener string   // its hostname
	host     string   // of the entry
	own      string   // the nearest hostname of the route that stands for the host; empty where it names none
	narrower []string // hostnames of other listeners that have a part of the host
}

// standing keeps of what is said about a host what one listener has, nearest first: that
// of the oldest Gateway where routes name the host. An edge dataplane has one Gateway; a
// sidecar may hear of several. What objects say for all hosts below a name is for this
// host too where the host is of the same listener.
func standing(host string, candidates []route.Candidate) []route.Candidate {
	var own *stand
	var kind string
	for _, c := range candidates {
		s := c.Payload.(*stand)
		if s.host == host && (own == nil || older(s.gateway, own.gateway) < 0) {
			own, kind = s, c.Object.Kind
		}
	}
	candidates = slices.DeleteFunc(candidates, func(c route.Candidate) bool {
		s := c.Payload.(*stand)
		return own == nil || s.gateway.Ref != own.gateway.Ref || s.listener != own.listener || c.Object.Kind != kind
	})
	slices.SortStableFunc(candidates, func(a, b route.Candidate) int {
		return cmp.Compare(nearness(b.Entry), nearness(a.Entry))
	})
	seen := map[api.Ref]bool{}
	return slices.DeleteFunc(candidates, func(c route.Candidate) bool {
		twice := seen[c.Object.Ref]
		seen[c.Object.Ref] = true
		return twice
	})
}

// nearness is how exactly a route names a host, whatever its listener has: a name itself goes
// before those that stand for all below one, of which the longer is the nearer, and before
// a route without hostnames (precedence of the Gateway API, spec/gateway-api.md 2.3).
func nearness(e *route.Entry) int {
	s, ok := e.Payload.(*stand)
	switch {
	case !ok:
		return 0
	case s.own != "" && !strings.HasPrefix(s.own, "*"):
		return len(s.own) + 1
	}
	return len(s.own)
}

// elsewhere are rows for the requests to hosts below a name that come to other listeners
// of the Gateway, which have nothing for them: an Envoy has no listeners inside a port.
func elsewhere(host string, candidates []route.Candidate) []route.Row {
	var names []string
	for _, c := range candidates {
		names = append(names, c.Payload.(*stand).narrower...)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !api.HostCovers(host, n) })
	slices.Sort(names)
	var rows []route.Row
	nothing := &route.MergedRule{Key: "gateway-elsewhere", Name: "gateway-elsewhere", Do: &route.Respond{Status: 404}, NoPolicies: true}
	for _, name := range slices.Compact(names) {
		expression := regexp.QuoteMeta(name)
		if below, wild := strings.CutPrefix(name, "*"); wild {
			expression = ".+" + regexp.QuoteMeta(below)
		}
		asked, err := match.MatchAll(match.OnAuthority, "", 0, "(?i:"+expression+")(:[0-9]+)?")
		if err != nil {
			panic(err) // Validate has looked at the name
		}
		nothing.Matches = append(nothing.Matches, match.Match{Conditions: match.Conditions{asked}})
	}
	for i := range nothing.Matches {
		rows = append(rows, route.Row{MergedRule: nothing, Match: nothing.Matches[i]})
	}
	return rows
}
