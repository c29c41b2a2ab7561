package derive

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// version is a tree with what it should hold.
type version struct {
	tree tree[id, int]
	want map[id]int
}

// TestTreeIsAMapOfItsOwn: a tree holds what a map would, in order, and a version
// stays as it was whatever is made of it.
func TestTreeIsAMapOfItsOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		versions := []version{{want: map[id]int{}}, drawFilled(t)}
		for range rapid.IntRange(1, 6).Draw(t, "versions") {
			v := versions[rapid.IntRange(0, len(versions)-1).Draw(t, "of")]
			v.want = maps.Clone(v.want)
			e := new(edit)
			for range rapid.IntRange(1, 8).Draw(t, "runs") {
				first, length := rapid.IntRange(0, 400).Draw(t, "first"), rapid.IntRange(1, 150).Draw(t, "length")
				remove, step := rapid.Bool().Draw(t, "remove"), rapid.SampledFrom([]int{1, -1, 7}).Draw(t, "step")
				for i := range length {
					k := id(first + 200 + i*step%200)
					if remove {
						v.tree.remove(e, k)
						delete(v.want, k)
					} else {
						v.tree.put(e, k, i)
						v.want[k] = i
					}
				}
			}
			versions = append(versions, v)
		}
		for i, v := range versions {
			checkTree(t, i, &v.tree, v.want)
		}
	})
}

// drawFilled is a tree that was filled at once.
func drawFilled(t *rapid.T) (v version) {
	v.want = map[id]int{}
	for n := range id(rapid.SampledFrom([]int{0, 1, 24, 25, 700}).Draw(t, "filled")) {
		v.want[200+n] = 7
	}
	v.tree.fill(new(edit), slices.Sorted(maps.Keys(v.want)), 7)
	return v
}

func checkTree(t *rapid.T, number int, x *tree[id, int], want map[id]int) {
	var keys []id
	for k, v := range x.from(0) {
		keys = append(keys, k)
		if known, ok := x.get(k); !ok || known != v || want[k] != v {
			t.Fatalf("version %d: %d is %d, got %d, want %d", number, k, v, known, want[k])
		}
	}
	if !slices.Equal(keys, slices.Sorted(maps.Keys(want))) || x.size != len(want) {
		t.Fatalf("version %d: %d keys %v, want %d", number, x.size, keys, len(want))
	}
	from := id(rapid.IntRange(0, 800).Draw(t, "from"))
	for k := range x.from(from) {
		if k < from {
			t.Fatalf("from %d yields %d", from, k)
		}
		break
	}
	if _, ok := x.get(1000); ok {
		t.Fatalf("version %d has what it never got", number)
	}
	if nodes := count(x.root); nodes > 4+x.size/4 {
		t.Fatalf("version %d: %d nodes for %d keys", number, nodes, x.size)
	}
}

func count(n *node[id, int]) int {
	if n == nil {
		return 0
	}
	all := 1
	for _, kid := range n.kids {
		all += count(kid)
	}
	return all
}

// nodes yields n and all that is below it.
func nodes(n *node[id, int], yield func(*node[id, int])) {
	yield(n)
	for _, kid := range n.kids {
		nodes(kid, yield)
	}
}

// TestNodesHaveLittleRoomToGrow: no more than for one entry beyond the widest node,
// however a tree is filled.
func TestNodesHaveLittleRoomToGrow(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(i int) id{
		"in order":  func(i int) id { return id(i) },
		"backwards": func(i int) id { return id(5000 - i) },
		"scattered": func(i int) id { return id(i * 7919 % 5003) },
	} {
		var x tree[id, int]
		e := new(edit)
		for i := range 5000 {
			x.put(e, key(i), i)
		}
		nodes(x.root, func(n *node[id, int]) {
			if room := max(cap(n.keys), cap(n.vals), cap(n.kids)); room > width+1 {
				t.Errorf("%s: a node of %d entries has room for %d, at most %d are needed", name, len(n.keys), room, width+1)
			}
		})
	}
}

// TestANodeIsSplitWhereItGrows: in halves, and where it grows at its end so that the
// left one, which gets no more, is fuller.
func TestANodeIsSplitWhereItGrows(t *testing.T) {
	t.Parallel()
	for added, want := range map[id][]int{5: {width / 2, width/2 + 1}, 155: {width / 2, width/2 + 1}, 1000: {24, 9}} {
		var x tree[id, int]
		e := new(edit)
		for i := range id(width) {
			x.put(e, 10*i, 0)
		}
		x.put(e, added, 0)
		var got []int
		for _, kid := range x.root.kids {
			got = append(got, len(kid.keys))
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %d it becomes nodes of %v, want %v", added, got, want)
		}
	}
}
