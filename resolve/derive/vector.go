package derive

import "slices"

// A part of a vector has 1<<digit items: values, or other parts.
const (
	digit  = 5
	digits = 1 << digit
)

// vector is a persistent array by number, in which unset entries are zero. A copy
// of it is a version of its own, as of a tree. Numbers are given one after the other: the
// first entry that an edit sets copies a pointer for each 1,024 numbers.
type vector[V any] struct {
	edit  *edit // that may change the list of twigs
	twigs []*part[*part[V]]
}

type part[T any] struct {
	edit  *edit
	items [digits]T
}

func (v *vector[V]) get(n id) (x V) {
	at := int(n >> (2 * digit))
	if at >= len(v.twigs) || v.twigs[at] == nil {
		return x
	}
	leaf := v.twigs[at].items[n>>digit%digits]
	if leaf == nil {
		return x
	}
	return leaf.items[n%digits]
}

// set puts x at n.
func (v *vector[V]) set(e *edit, n id, x V) {
	at := int(n >> (2 * digit))
	if v.edit != e {
		v.edit, v.twigs = e, slices.Clone(v.twigs)
	}
	if more := at + 1 - len(v.twigs); more > 0 {
		v.twigs = append(v.twigs, make([]*part[*part[V]], more)...)
	}
	twig := v.twigs[at].own(e)
	v.twigs[at] = twig
	leaf := twig.items[n>>digit%digits].own(e)
	twig.items[n>>digit%digits] = leaf
	leaf.items[n%digits] = x
}

// own is p where e may change it, else a copy that it may; of nothing an empty one.
func (p *part[T]) own(e *edit) *part[T] {
	switch {
	case p == nil:
		return &part[T]{edit: e}
	case p.edit == e:
		return p
	}
	out := *p
	out.edit = e
	return &out
}
