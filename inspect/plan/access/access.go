// Package access compares who may call what before and after a step, by the verdicts of the simulator.
package access

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/resolve/effective"
)

// Access is what becomes of the calls of one identity at one destination, of those that one rule of a
// route takes there where permissions are attached to rules (spec/identity.md 4.7): a verdict that
// changes.
type Access struct {
	Mesh        string       `json:"mesh"`
	Caller      AccessCaller `json:"caller"`
	Destination AccessAt     `json:"destination"`
	Rule        *AccessRule  `json:"rule,omitempty"` // whose requests it is about; absent for those of no such rule
	Before      string       `json:"before"`         // allow, deny, some where that depends on the request, open where nobody asks who calls, absent where nobody listens
	After       string       `json:"after"`
	Change      AccessChange `json:"change"`
	Requests    []string     `json:"requests,omitempty"` // of those that some rules tell apart, whose verdict changes: the first
	By          *api.Origin  `json:"by,omitempty"`       // whose word holds afterwards
	Field       api.Path     `json:"field,omitempty"`
	Reason      string       `json:"reason,omitempty"` // where nobody's does
}

// AccessChange says whether more callers get in.
type AccessChange string

// The changes, the one to look at first of all first.
const (
	Widens   AccessChange = "widens"    // something gets in that did not
	Both     AccessChange = "both"      // that, and something does not that did
	MayWiden AccessChange = "may widen" // it depends on a regular expression, or on more requests than are looked at
	Narrows  AccessChange = "narrows"   // something does not get in that did
)

// AccessCaller is all dataplanes that prove one name.
type AccessCaller struct {
	Identity string `json:"identity"` // empty: they prove none, and speak plaintext
	// Was is who they were before, where that is somebody else.
	Was string `json:"was,omitempty"`
	step.Listed
}

// AccessAt is all inbounds of one service about which the same is decided.
type AccessAt struct {
	Service  string       `json:"service"` // kuma.io/service, else the name of the dataplane
	Port     uint32       `json:"port"`
	Protocol api.Protocol `json:"protocol"`
	step.Listed
}

// AccessRule is a rule of a route with permissions of its own, as its requests arrive.
type AccessRule struct {
	Match   string        `json:"match"` // what it takes, in words
	Origins []*api.Origin `json:"origins"`
}

// mostPairs bounds how many pairs are put in order.
const mostPairs = 20_000

// caller is a class of dataplanes that call alike before and after.
type caller struct {
	mesh    string
	was, is []string
	on      []api.Ref
}

// callee is a class of inbounds that decide alike before and after.
type callee struct {
	mesh          string
	service       string
	before, after *effective.Inbound // nil where nobody listens
	on            []api.Ref
	differs, all  *comparison // what was looked at already
}

// changedAccess is a pair of a caller and a destination whose verdict changes.
type changedAccess struct {
	*Access
	caller *caller
	callee *callee
}

// Widening are the verdicts of a step by which something gets in that did not, the first of them, and
// how many there are beside.
func Widening(s step.Comparison, most int) (out []Access, cut int) {
	b := step.NewBudget(step.MostNames)
	all, _ := Between(s, &b)
	for i := range all {
		switch {
		case !all[i].widens():
		case len(out) == most:
			cut++
		default:
			out = append(out, all[i])
		}
	}
	return out, cut
}

// Between is what changes about who may call, widening first, and how many such pairs are not
// among them. It costs what permissions, modes and identities change: of inbounds that decide
// as before only callers are looked at that prove another name.
func Between(s step.Comparison, b *step.Budget) (out []Access, cut int) {
	changed, meshes := changedCallees(s)
	var pairs []changedAccess
	known := &compared{of: map[decidedPair][]*Access{}}
	for _, mesh := range slices.Sorted(maps.Keys(meshes)) {
		callers, others := callersOf(s, mesh)
		for _, c := range callers {
			list := changed[mesh]
			if !slices.Equal(c.was, c.is) {
				list = append(slices.Clone(list), others()...)
			}
			for _, d := range list {
				for _, a := range known.at(c, d) {
					if len(pairs) >= mostPairs {
						cut++
						continue
					}
					pairs = append(pairs, changedAccess{a, c, d})
				}
			}
		}
	}
	order := []AccessChange{Widens, Both, MayWiden, Narrows}
	slices.SortStableFunc(pairs, func(x, y changedAccess) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.Change), slices.Index(order, y.Change)), cmp.Compare(x.callee.mesh, y.callee.mesh),
			cmp.Compare(x.callee.service, y.callee.service), cmp.Compare(x.callee.port(), y.callee.port()), slices.Compare(x.caller.is, y.caller.is))
	})
	for _, p := range pairs[:min(len(pairs), step.Longest)] {
		out = append(out, p.of(b))
	}
	return out, cut + known.cut + len(pairs) - len(out)
}

// LastOf is the last of the rules that a rule was merged from, nil for none.
func LastOf(origins []*api.Origin) *api.Origin {
	if len(origins) == 0 {
		return nil
	}
	return origins[len(origins)-1]
}
