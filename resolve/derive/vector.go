package derive

// A vector's nodes have 1<<digit kids.
const (
	digit  = 5
	digits = 1 << digit
)

// vector is a persistent array by number, in which unset entries are zero. A copy
// of it is a version of its own, as of a tree.
type vector[V any] struct {
	root  *branch[V]
	shift uint // of the root; its kids are leaves where it is digit
}

// branch is a node of a vector: of kids, or of values.
type branch[V any] struct {
	edit *edit
	kids *[digits]*branch[V]
	vals *[digits]V
}

func (v *vector[V]) get(n id) (x V) {
	b := v.root
	if b == nil || n>>v.shift >= digits {
		return x
	}
	for shift := v.shift; shift > 0; shift -= digit {
		if b = b.kids[n>>shift%digits]; b == nil {
			return x
		}
	}
	return b.vals[n%digits]
}

// set puts x at n.
func (v *vector[V]) set(e *edit, n id, x V) {
	if v.root == nil {
		v.root = newBranch[V](e, 0)
	}
	for ; n>>v.shift >= digits; v.shift += digit {
		root := newBranch[V](e, v.shift+digit)
		root.kids[0] = v.root
		v.root = root
	}
	v.root = v.root.own(e)
	b := v.root
	for shift := v.shift; shift > 0; shift -= digit {
		kid := &b.kids[n>>shift%digits]
		if *kid == nil {
			*kid = newBranch[V](e, shift-digit)
		} else {
			*kid = (*kid).own(e)
		}
		b = *kid
	}
	b.vals[n%digits] = x
}

func newBranch[V any](e *edit, shift uint) *branch[V] {
	if shift == 0 {
		return &branch[V]{edit: e, vals: new([digits]V)}
	}
	return &branch[V]{edit: e, kids: new([digits]*branch[V])}
}

// own is b where e may change it, else a copy that it may.
func (b *branch[V]) own(e *edit) *branch[V] {
	if b.edit == e {
		return b
	}
	out := &branch[V]{edit: e}
	if b.kids != nil {
		kids := *b.kids
		out.kids = &kids
	} else {
		vals := *b.vals
		out.vals = &vals
	}
	return out
}
