package derive

import "slices"

// A leaf of a vector has 1<<digit values, and a twig as many leaves.
const (
	digit  = 5
	digits = 1 << digit
)

// vector is a persistent array by number, in which unset entries are zero. A copy
// of it is a version of its own, as of a tree. Numbers are given one after the other: the
// first entry that an edit sets copies a pointer for each 1,024 numbers.
type vector[V any] struct {
	edit  *edit // that may change the list of twigs
	twigs []*twig[V]
}

type twig[V any] struct {
	edit   *edit
	leaves [digits]*leaf[V]
}

type leaf[V any] struct {
	edit *edit
	vals [digits]V
}

func (v *vector[V]) get(n id) (x V) {
	at := int(n >> (2 * digit))
	if at >= len(v.twigs) || v.twigs[at] == nil {
		return x
	}
	l := v.twigs[at].leaves[n>>digit%digits]
	if l == nil {
		return x
	}
	return l.vals[n%digits]
}

// set puts x at n.
func (v *vector[V]) set(e *edit, n id, x V) {
	at := int(n >> (2 * digit))
	if v.edit != e {
		v.edit, v.twigs = e, slices.Clone(v.twigs)
	}
	if more := at + 1 - len(v.twigs); more > 0 {
		v.twigs = append(v.twigs, make([]*twig[V], more)...)
	}
	t := v.twigs[at].own(e)
	v.twigs[at] = t
	l := t.leaves[n>>digit%digits].own(e)
	t.leaves[n>>digit%digits] = l
	l.vals[n%digits] = x
}

// own is t where e may change it, else a copy that it may.
func (t *twig[V]) own(e *edit) *twig[V] {
	switch {
	case t == nil:
		return &twig[V]{edit: e}
	case t.edit == e:
		return t
	}
	out := *t
	out.edit = e
	return &out
}

// own is l where e may change it, else a copy that it may.
func (l *leaf[V]) own(e *edit) *leaf[V] {
	switch {
	case l == nil:
		return &leaf[V]{edit: e}
	case l.edit == e:
		return l
	}
	out := *l
	out.edit = e
	return &out
}
