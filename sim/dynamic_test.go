package sim_test

import (
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/tables"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/timeline"
)

// drawn is a table of routes, with policies on each.
func drawn(d tables.Dice) []*effective.Route {
	out := tables.Resolve(d.Table(), func(name string) (kind, id string) { return api.KindMeshService, name })
	for _, r := range out {
		r.Policies = d.Policies()
	}
	return out
}

// policyOf is a policy that sets just this.
func policyOf(k *policies.Kind, c policies.Conf) *policies.Effective {
	return k.Resolve([]merge.Layer{{Name: merge.Route, Origin: &api.Origin{Ref: api.Ref{Kind: k.Name, Name: "p"}}, Leaves: k.Schema.Read(c)}})
}

// under is a shop whose only route has these policies.
func under(p api.Protocol, list ...*policies.Effective) *effective.Resolved {
	m := match.CatchAll
	r := shop(&effective.Route{Name: "all", Key: "all", Match: m, Matches: []match.Match{m}, Backends: []effective.Backend{to("v1", 1)}, Policies: list})
	r.Outbounds[0].Destination.Protocol = p
	return r
}

// scripted is what a backend does on a step of a script.
func scripted(script string) func(int) timeline.BackendResponse {
	steps := strings.Split(script, ",")
	return func(n int) timeline.BackendResponse {
		kind, arg, _ := strings.Cut(steps[min(n, len(steps)-1)], ":")
		switch kind {
		case "reset":
			return timeline.BackendResponse{Reset: true}
		case "slow":
			d, _ := time.ParseDuration(arg)
			return timeline.BackendResponse{Delay: d, Status: 200}
		case "grpc":
			code, _ := strconv.ParseUint(arg, 10, 32)
			return timeline.BackendResponse{Status: 200, GRPCStatus: ptr(uint32(code))}
		}
		status, _ := strconv.ParseUint(kind, 10, 32)
		return timeline.BackendResponse{Status: uint32(status)}
	}
}
