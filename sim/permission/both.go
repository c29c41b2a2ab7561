package permission

import (
	"slices"

	"github.com/weftmesh/weft/route/match"
)

// both lets in whom two kinds of policies let in. It is equal to another one of the same two.
type both struct{ first, second Decider }

// Judge tells of who denies, else of the first.
func (b both) Judge(v *Visit) *Permission { return joined(b.first.Judge(v), b.second.Judge(v)) }

// Access is as Judge.
func (b both) Access(names []string, requests bool) *Permission {
	return joined(b.first.Access(names, requests), b.second.Access(names, requests))
}

// alsoLets is said of an entry of a kind that lets a caller in beside another one.
const alsoLets = "it lets the caller in, and the other kinds of policies that are asked have to as well"

// joined is what two decisions come to, of which the one that lets in less is told.
func joined(p, q *Permission) *Permission {
	if strictness(q.Decision) > strictness(p.Decision) || q.Decision == p.Decision && p.Tier == 0 {
		p, q = q, p
	}
	out := *p
	if out.Decision != Deny && out.Shadow == "" {
		out.Shadow, out.ShadowBy = q.Shadow, q.ShadowBy
	}
	if q.By != nil && q.Decision != Deny {
		out.Others = append(slices.Clip(out.Others), Considered{By: *q.By, Why: alsoLets})
	}
	return &out
}

// strictness is larger for a decision that lets in less.
func strictness(decision string) int {
	switch decision {
	case Deny:
		return 2
	case Some:
		return 1
	}
	return 0
}

// OneSpelling reports whether one of them wants it.
func (b both) OneSpelling() bool { return b.first.OneSpelling() || b.second.OneSpelling() }

// Lists are those of the first, with those of the second beside them.
func (b both) Lists() *PermissionLists {
	out := *b.first.Lists()
	out.Also = append(slices.Clip(out.Also), b.second.Lists())
	return &out
}

// Asks are the conditions that either asks.
func (b both) Asks() (out []match.Condition) {
	for _, j := range []Decider{b.first, b.second} {
		if by, ok := j.(RequestDecider); ok {
			out = append(out, by.Asks()...)
		}
	}
	return out
}
