package policies

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/merge"
)

// Alternatives are the paths of two fields or blocks of a conf of which one alone can hold.
type Alternatives struct{ One, Other string }

// Replaced is a field of which nothing holds, because a stronger layer says an alternative of it.
type Replaced struct {
	merge.Field
	By   merge.Said // the strongest word on the alternative
	Path string     // of the field that it is about
}

// replace takes out of fields those whose alternative a stronger layer says. A layer that says both takes
// neither away: which of them has an effect is for Kind.Requires then. Laying layers in two steps comes to the
// same: what is taken away once stays away.
func (k *Kind) replace(fields []merge.Field) (kept []merge.Field, replaced []Replaced) {
	kept = fields
	for _, a := range k.Alternatives {
		one, other := k.below(kept, a.One), k.below(kept, a.Other)
		if len(one) == 0 || len(other) == 0 {
			continue
		}
		gone := append(k.replacedBy(kept, one, other), k.replacedBy(kept, other, one)...)
		kept = without(kept, gone)
		replaced = append(replaced, gone...)
	}
	slices.SortFunc(replaced, func(a, b Replaced) int { return a.Field.Field - b.Field.Field })
	return kept, replaced
}

// without are the fields of which something holds: of some of those that are gone what is built in does.
func without(fields []merge.Field, gone []Replaced) (out []merge.Field) {
	for _, f := range fields {
		i := slices.IndexFunc(gone, func(r Replaced) bool { return r.Field.Field == f.Field })
		if i >= 0 && len(gone[i].Said) == len(f.Said) {
			continue
		}
		if i >= 0 {
			f.Said = slices.Clone(f.Said[:len(f.Said)-len(gone[i].Said)])
			f.Said[len(f.Said)-1].Lost = merge.NotLost
		}
		out = append(out, f)
	}
	return out
}

// below are the indexes of those of fields that are the one at path, or are in the block there.
func (k *Kind) below(fields []merge.Field, path string) (out []int) {
	for i, f := range fields {
		if at := k.Schema.Leaves[f.Field].Path; at == path || strings.HasPrefix(at, path+".") {
			out = append(out, i)
		}
	}
	return out
}

// replacedBy are those of the fields mine to whose strongest word a layer is stronger that says some of
// theirs and none of mine.
func (k *Kind) replacedBy(fields []merge.Field, mine, theirs []int) (out []Replaced) {
	says := func(order uint32, list []int) bool {
		return slices.ContainsFunc(list, func(i int) bool {
			return slices.ContainsFunc(fields[i].Said, func(s merge.Said) bool { return s.Order == order })
		})
	}
	var by *merge.Said
	path := ""
	for _, i := range theirs {
		for n := range fields[i].Said {
			if s := &fields[i].Said[n]; (by == nil || by.Order < s.Order) && !says(s.Order, mine) {
				by, path = s, k.Schema.Leaves[fields[i].Field].Path
			}
		}
	}
	if by == nil {
		return nil
	}
	holds := slices.ContainsFunc(mine, func(i int) bool { return fields[i].Winner().Order > by.Order })
	for _, i := range mine {
		f := fields[i]
		if f.Winner().Order > by.Order {
			continue
		}
		f.Said = slices.Clone(f.Said)
		if holds && f.Said[0].Layer == merge.Default { // what is built in fills gaps
			if f.Said = f.Said[1:]; len(f.Said) == 0 {
				continue
			}
		}
		for n := range f.Said {
			f.Said[n].Lost = merge.ByAlternative
		}
		out = append(out, Replaced{f, *by, path})
	}
	return out
}

// Said yields all that was said of the kind there, field by field: of those that hold, and of those in whose
// place others stand.
func (e *Effective) Said(yield func(field int, s *merge.Said) bool) {
	for _, f := range e.Fields {
		for i := range f.Said {
			if !yield(f.Field, &f.Said[i]) {
				return
			}
		}
	}
	for _, f := range e.Replaced {
		for i := range f.Said {
			if !yield(f.Field.Field, &f.Said[i]) {
				return
			}
		}
	}
}
