package skipper

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/route"
)

// TestHashesInWords: how a hash chooses endpoints is said by filters where a group has words for it: keys, and one
// bound of at least the average, the same for all backends.
func TestHashesInWords(t *testing.T) {
	t.Parallel()
	hashedBy := func(bounds ...uint32) *route.Forward {
		do := &route.Forward{Hash: append([]route.HashKey{{Header: "x-user", Last: true}}, byClient...)}
		for _, b := range bounds {
			do.Backends = append(do.Backends, route.BackendRef{Weight: 1, Balance: route.Balance{Algorithm: route.RingHash, Bound: b}})
		}
		return do
	}
	const key = "consistentHashKey(\"${request.header.x-user}\")"
	for _, c := range []struct {
		bounds []uint32
		want   []string
	}{
		{[]uint32{0}, []string{key}},
		{[]uint32{0, 0}, []string{key}},
		{[]uint32{100}, []string{key, "consistentHashBalanceFactor(1)"}},
		{[]uint32{150, 150}, []string{key, "consistentHashBalanceFactor(1.5)"}},
		{[]uint32{99}, nil},
		{[]uint32{150, 200}, nil},
		{nil, nil},
	} {
		got, ok := hashFilters(hashedBy(c.bounds...))
		if ok != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("bounds of %v: %q, %v, want %q", c.bounds, got, ok, c.want)
		}
	}
}

// TestReplacementsInWords: a replacement that is printed is read back as it was, whatever of it means something in
// either language.
func TestReplacementsInWords(t *testing.T) {
	t.Parallel()
	for with, want := range map[string]string{
		`/to`: `/to`, `\1`: `${1}`, `a\1b\2`: `a${1}b${2}`, `$`: `$$`, `\\`: `\`, `\\\1$`: `\${1}$$`, `\\1`: `\1`, `a$1`: `a$$1`,
	} {
		text := substituted(with)
		if text != want {
			t.Errorf("%s is printed as %s, want %s", with, text, want)
		}
		if back, err := substitution(nil, text, 2); err != nil || back != with {
			t.Errorf("%s is printed as %s and read back as %s: %v", with, text, back, err)
		}
	}
}
