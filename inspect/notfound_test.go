package inspect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// What is missing is named with what comes near it, else with what there is, as
// long as that is not much.
func TestWhatIsMissingIsNamedWithWhatThereIs(t *testing.T) {
	t.Parallel()
	many := strings.Fields(strings.Repeat("x ", 13))
	for _, c := range []struct {
		have []string
		want string
	}{
		{[]string{"frontend", "backend"}, "dataplane fronted: not found; did you mean frontend?"},
		{[]string{"web", "db"}, "dataplane fronted: not found; there is web, db"},
		{[]string{"frontend", "shop/fronted", "team/fronted"}, "dataplane fronted: not found; did you mean shop/fronted, team/fronted?"},
		{many[:12], "dataplane fronted: not found; there is x, x, x, x, x, x, x, x, x, x, x, x"},
		{many, "dataplane fronted: not found"},
		{nil, "dataplane fronted: not found"},
	} {
		if err := inspect.NotFound("dataplane", "fronted", c.have); !errors.Is(err, inspect.ErrNotFound) || err.Error() != c.want {
			t.Errorf("%q, want %q", err, c.want)
		}
	}
}

// A dataplane that is there is found, and for one that is not the nearest names are told.
func TestDataplanesAreFoundByName(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, inspecttest.Street)
	if r, err := inspect.Dataplane(m, inspecttest.Plane("a-1")); err != nil || r.Ref != inspecttest.Plane("a-1") {
		t.Errorf("%v %v", r, err)
	}
	if r, err := inspect.Dataplane(m, inspecttest.Plane("a-2")); !errors.Is(err, inspect.ErrNotFound) || !strings.Contains(err.Error(), "did you mean a-1") {
		t.Errorf("%v %v", r, err)
	}
}
