package derive

import (
	"iter"
	"slices"
)

// width is how many entries a node of a tree holds at most.
const width = 32

// edit is the right to change nodes in place: those that one update made and
// nobody else has seen. It has a size, so that no two of them are one.
type edit struct{ _ byte }

// ordered is a key of a tree.
type ordered[K any] interface{ compare(K) int }

// tree is a persistent B+ tree. A copy of it is a version of its own: put and
// remove with another edit copy the nodes on the way and share all others.
type tree[K ordered[K], V any] struct {
	root *node[K, V]
	size int
}

type node[K ordered[K], V any] struct {
	edit *edit
	keys []K           // of a leaf its entries, else a lower bound of each kid
	vals []V           // of a leaf
	kids []*node[K, V] // nil in a leaf
}

func (t *tree[K, V]) get(k K) (v V, ok bool) {
	n := t.root
	if n == nil {
		return v, false
	}
	for n.kids != nil {
		n = n.kids[n.kid(k)]
	}
	if i, found := n.find(k); found {
		return n.vals[i], true
	}
	return v, false
}

func (t *tree[K, V]) put(e *edit, k K, v V) {
	if t.root == nil {
		t.root, t.size = &node[K, V]{edit: e, keys: []K{k}, vals: []V{v}}, 1
		return
	}
	root, right, added := t.root.put(e, k, v)
	if right != nil {
		root = &node[K, V]{edit: e, keys: []K{root.keys[0], right.keys[0]}, kids: []*node[K, V]{root, right}}
	}
	t.root = root
	if added {
		t.size++
	}
}

// fill makes an empty tree one of sorted keys, each with the value v: it costs less
// than to put them one by one.
func (t *tree[K, V]) fill(e *edit, keys []K, v V) {
	t.size = len(keys)
	var row []*node[K, V]
	for part := range slices.Chunk(keys, width*3/4) {
		row = append(row, &node[K, V]{edit: e, keys: slices.Clone(part), vals: slices.Repeat([]V{v}, len(part))})
	}
	for len(row) > 1 {
		var above []*node[K, V]
		for part := range slices.Chunk(row, width*3/4) {
			n := &node[K, V]{edit: e, kids: slices.Clone(part)}
			for _, kid := range part {
				n.keys = append(n.keys, kid.keys[0])
			}
			above = append(above, n)
		}
		row = above
	}
	if len(row) > 0 {
		t.root = row[0]
	}
}

// remove forgets k; it copies nothing where k is not there.
func (t *tree[K, V]) remove(e *edit, k K) {
	if _, ok := t.get(k); !ok {
		return
	}
	t.size--
	t.root = t.root.remove(e, k)
	for t.root != nil && len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
}

// each calls f with the entries from k on, in order, until it returns false.
func (t *tree[K, V]) each(k K, f func(K, V) bool) {
	if t.root != nil {
		t.root.ascend(k, f)
	}
}

// from yields the entries from k on, in order. The tree may not be edited meanwhile.
func (t *tree[K, V]) from(k K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if t.root != nil {
			t.root.ascend(k, yield)
		}
	}
}

// find is where k is in n, or where it would be.
func (n *node[K, V]) find(k K) (int, bool) {
	from, to := 0, len(n.keys)
	for from < to {
		i := (from + to) / 2
		switch c := k.compare(n.keys[i]); {
		case c == 0:
			return i, true
		case c < 0:
			to = i
		default:
			from = i + 1
		}
	}
	return from, false
}

// kid is the number of the kid that k is below.
func (n *node[K, V]) kid(k K) int {
	i, found := n.find(k)
	if found {
		return i
	}
	return max(i-1, 0)
}

// own is n where e may change it, else a copy that it may.
func (n *node[K, V]) own(e *edit) *node[K, V] {
	if n.edit == e {
		return n
	}
	return &node[K, V]{edit: e, keys: clone(n.keys), vals: clone(n.vals), kids: clone(n.kids)}
}

// clone is a copy of a list of a node with room for some more; nil of nil.
func clone[T any](list []T) []T {
	if list == nil {
		return nil
	}
	return append(make([]T, 0, min(len(list)*3/2+1, width+1)), list...)
}

// insert puts x into a list of a node, which grows less than a list of any length
// would.
func insert[T any](list []T, i int, x T) []T {
	if len(list) == cap(list) {
		list = clone(list)
	}
	return slices.Insert(list, i, x)
}

// put returns what stands in the place of n, and its new right neighbour if it
// had to be split.
func (n *node[K, V]) put(e *edit, k K, v V) (self, right *node[K, V], added bool) {
	n = n.own(e)
	if n.kids == nil {
		i, found := n.find(k)
		if found {
			n.vals[i] = v
			return n, nil, false
		}
		n.keys, n.vals = insert(n.keys, i, k), insert(n.vals, i, v)
		return n, n.split(i), true
	}
	i := n.kid(k)
	if k.compare(n.keys[i]) < 0 {
		n.keys[i] = k
	}
	kid, beside, added := n.kids[i].put(e, k, v)
	n.kids[i] = kid
	if beside == nil {
		return n, nil, added
	}
	n.keys, n.kids = insert(n.keys, i+1, beside.keys[0]), insert(n.kids, i+1, beside)
	return n, n.split(i + 1), added
}

// split takes the right half out of a node that has become too wide by the entry
// at. What grows at its end, as when it is filled in order,
// leaves fuller nodes.
func (n *node[K, V]) split(at int) *node[K, V] {
	if len(n.keys) <= width {
		return nil
	}
	cut := len(n.keys) / 2
	if at == len(n.keys)-1 {
		cut = len(n.keys) * 3 / 4
	}
	right := &node[K, V]{edit: n.edit, keys: clone(n.keys[cut:])}
	n.keys = clone(n.keys[:cut])
	if n.kids == nil {
		right.vals, n.vals = clone(n.vals[cut:]), clone(n.vals[:cut])
	} else {
		right.kids, n.kids = clone(n.kids[cut:]), clone(n.kids[:cut])
	}
	return right
}

// remove returns what stands in the place of n; nil where nothing is left. The
// key is there.
func (n *node[K, V]) remove(e *edit, k K) *node[K, V] {
	n = n.own(e)
	if n.kids == nil {
		i, _ := n.find(k)
		n.keys, n.vals = slices.Delete(n.keys, i, i+1), slices.Delete(n.vals, i, i+1)
	} else {
		i := n.kid(k)
		if n.kids[i] = n.kids[i].remove(e, k); n.kids[i] == nil {
			n.drop(i)
		} else if i == 0 || !n.join(e, i-1) {
			n.join(e, i)
		}
	}
	if len(n.keys) == 0 {
		return nil
	}
	return n
}

func (n *node[K, V]) drop(i int) {
	n.keys, n.kids = slices.Delete(n.keys, i, i+1), slices.Delete(n.kids, i, i+1)
}

// join makes one kid of i and the next, where both together are no more than
// three quarters of one.
func (n *node[K, V]) join(e *edit, i int) bool {
	if i+1 >= len(n.kids) || len(n.kids[i].keys)+len(n.kids[i+1].keys) > width*3/4 {
		return false
	}
	left, right := n.kids[i].own(e), n.kids[i+1]
	left.keys = append(left.keys, right.keys...)
	left.vals = append(left.vals, right.vals...)
	left.kids = append(left.kids, right.kids...)
	n.kids[i] = left
	n.drop(i + 1)
	return true
}

func (n *node[K, V]) ascend(k K, yield func(K, V) bool) bool {
	if n.kids == nil {
		for i, _ := n.find(k); i < len(n.keys); i++ {
			if !yield(n.keys[i], n.vals[i]) {
				return false
			}
		}
		return true
	}
	for i := n.kid(k); i < len(n.kids); i++ {
		if !n.kids[i].ascend(k, yield) {
			return false
		}
	}
	return true
}

// first is the least key; not ok in an empty tree.
func (t *tree[K, V]) first() (k K, ok bool) {
	if t.root == nil {
		return k, false
	}
	n := t.root
	for n.kids != nil {
		n = n.kids[0]
	}
	return n.keys[0], true
}
