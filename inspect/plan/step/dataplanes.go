package step

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Longest is how many entries a list of a Plan has at most; what is beyond is counted.
const Longest = 1000

// Listed says at which dataplanes something changes: NAME, or NAME.NAMESPACE. One is Dataplane,
// several are Dataplanes.
type Listed struct {
	Dataplane  string   `json:"dataplane,omitempty"`
	Dataplanes []string `json:"dataplanes,omitempty"` // sorted
	Cut        int      `json:"cut,omitempty"`        // how many are not listed
}

// MostNames is how many names of dataplanes a plan has at most, in all its lists together: an answer is
// not effects times dataplanes long.
const MostNames = 50_000

// Fewest is how many names a list has that comes when those of the plan are spent.
const Fewest = 10

// Budget says how many names may still be told.
type Budget struct{ names int }

// NewBudget has so many names: MostNames for one plan.
func NewBudget(names int) Budget { return Budget{names} }

// Name names n dataplanes, as many as the budget has left.
func (b *Budget) Name(n int, ref func(int) api.Ref) Listed {
	if n == 1 {
		return Listed{Dataplane: ref(0).FullName()}
	}
	most := min(n, Longest, max(b.names, Fewest))
	b.names -= most
	out := Listed{Cut: n - most}
	for i := range most {
		out.Dataplanes = append(out.Dataplanes, ref(i).FullName())
	}
	return out
}

// Text are the dataplanes, in words: at most so many names.
func (o *Listed) Text(most int) string {
	all := o.Dataplanes
	if o.Dataplane != "" {
		all = []string{o.Dataplane}
	}
	n := len(all) + o.Cut
	if n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), n-most)
	}
	return strings.Join(all, ", ")
}

// Same reports whether both name the same.
func (o *Listed) Same(p *Listed) bool {
	return o.Dataplane == p.Dataplane && o.Cut == p.Cut && slices.Equal(o.Dataplanes, p.Dataplanes)
}
