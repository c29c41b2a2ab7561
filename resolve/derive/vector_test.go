package derive

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestVectorIsAnArrayOfItsOwn: a vector holds what was put at each number, also at
// large ones, and a version stays as it was whatever is made of it.
func TestVectorIsAnArrayOfItsOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			vector vector[int]
			want   map[id]int
		}
		numbers := rapid.OneOf(rapid.Uint32Max(70), rapid.Uint32Range(1000, 1100), rapid.Uint32Range(1<<20, 1<<20+40))
		versions := []version{{want: map[id]int{}}}
		for range rapid.IntRange(1, 5).Draw(t, "versions") {
			v := versions[rapid.IntRange(0, len(versions)-1).Draw(t, "of")]
			v.want = maps.Clone(v.want)
			e := new(edit)
			for range rapid.IntRange(1, 20).Draw(t, "entries") {
				n, x := id(numbers.Draw(t, "number")), rapid.IntRange(0, 9).Draw(t, "value")
				v.vector.set(e, n, x)
				v.want[n] = x
			}
			versions = append(versions, v)
		}
		for i, v := range versions {
			for _, other := range versions {
				for n := range other.want {
					if got := v.vector.get(n); got != v.want[n] {
						t.Fatalf("version %d has %d at %d, want %d", i, got, n, v.want[n])
					}
				}
			}
			if n := id(numbers.Draw(t, "absent")); v.vector.get(n) != v.want[n] {
				t.Fatalf("version %d has something at %d", i, n)
			}
		}
	})
}
