package tuple_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/tuple"
)

// TestPartsComeBack: whatever parts contain, they are told apart again, and other parts are another text.
func TestPartsComeBack(t *testing.T) {
	t.Parallel()
	part := rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00\x01\x02\x03é")), 0, 4, -1)
	list := rapid.SliceOfN(part, 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		joined := tuple.Join(a...)
		if got := tuple.Split(joined); !slices.Equal(got, a) {
			t.Fatalf("%q came back as %q", a, got)
		}
		if (joined == tuple.Join(b...)) != slices.Equal(a, b) {
			t.Fatalf("%q and %q are %q and %q", a, b, joined, tuple.Join(b...))
		}
		if got := tuple.Append(joined, b...); got != tuple.Join(slices.Concat(a, b)...) || !strings.HasPrefix(got, joined) {
			t.Fatalf("%q with %q is %q", a, b, got)
		}
		rest, last, more := tuple.CutLast(joined)
		if more != (len(a) > 1) || more && (last != a[len(a)-1] || rest != tuple.Join(a[:len(a)-1]...)) || !more && rest != joined {
			t.Fatalf("%q was cut into %q and %q", a, rest, last)
		}
	})
}

// TestPlainPartsAreThemselves: a key of one name is that name, so that it can be shown and compared.
func TestPlainPartsAreThemselves(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "web", "msvc_shop_web_80", "ü"} {
		if got := tuple.Join(name); got != name {
			t.Errorf("%q is %q", name, got)
		}
	}
	if got := tuple.Join(); got != "" {
		t.Errorf("no parts are %q", got)
	}
}
