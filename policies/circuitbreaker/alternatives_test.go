package circuitbreaker_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/circuitbreaker"
)

func layers(confs ...*circuitbreaker.ConnectionLimits) (out []merge.Layer) {
	for i, l := range confs {
		out = append(out, merge.Layer{Name: merge.Mesh, Origin: &api.Origin{Ref: api.Ref{Name: fmt.Sprint(i)}},
			Leaves: circuitbreaker.Kind.Schema.Read(&circuitbreaker.Conf{ConnectionLimits: l})})
	}
	return out
}

func retries(n uint32) *circuitbreaker.ConnectionLimits {
	return &circuitbreaker.ConnectionLimits{MaxRetries: &n}
}

func percent(text string) *circuitbreaker.ConnectionLimits {
	p := policies.Percentage(text)
	return &circuitbreaker.ConnectionLimits{RetryBudget: &circuitbreaker.RetryBudget{BudgetPercent: &p}}
}

func least(n uint32) *circuitbreaker.ConnectionLimits {
	return &circuitbreaker.ConnectionLimits{RetryBudget: &circuitbreaker.RetryBudget{MinRetryConcurrency: &n}}
}

// TestABudgetAndANumberOfRetriesReplaceEachOther: the stronger layer's one takes away the other of weaker
// layers, and whoever asks is told by whom (spec/kinds.md 1.4).
func TestABudgetAndANumberOfRetriesReplaceEachOther(t *testing.T) {
	t.Parallel()
	both := percent("5")
	both.MaxRetries = new(uint32(7))
	for name, c := range map[string]struct {
		said     []*circuitbreaker.ConnectionLimits
		want     string // maxRetries, budgetPercent, minRetryConcurrency
		replaced string // fields and whose word is in their place
	}{
		"a number alone":                         {[]*circuitbreaker.ConnectionLimits{retries(8)}, "8 - -", ""},
		"a budget alone":                         {[]*circuitbreaker.ConnectionLimits{percent("30")}, "- 30 3", ""},
		"a budget over a number":                 {[]*circuitbreaker.ConnectionLimits{retries(8), percent("30")}, "- 30 3", "connectionLimits.maxRetries by 1;"},
		"a number over a budget":                 {[]*circuitbreaker.ConnectionLimits{percent("30"), retries(8)}, "8 - -", "connectionLimits.retryBudget.budgetPercent by 1;connectionLimits.retryBudget.minRetryConcurrency by 1;"},
		"field by field":                         {[]*circuitbreaker.ConnectionLimits{percent("30"), least(9)}, "- 30 9", ""},
		"what was taken away stays away":         {[]*circuitbreaker.ConnectionLimits{percent("30"), retries(8), least(9)}, "- 20 9", "connectionLimits.maxRetries by 2;connectionLimits.retryBudget.budgetPercent by 1;"},
		"one that says both takes neither away":  {[]*circuitbreaker.ConnectionLimits{percent("30"), both}, "7 5 3", ""},
		"and gives way to one that is stronger":  {[]*circuitbreaker.ConnectionLimits{both, retries(9)}, "9 - -", "connectionLimits.retryBudget.budgetPercent by 1;connectionLimits.retryBudget.minRetryConcurrency by 1;"},
		"what is built in gives way to a budget": {[]*circuitbreaker.ConnectionLimits{{MaxRequests: new(uint32(5))}, percent("30")}, "- 30 3", "connectionLimits.maxRetries by 1;"},
	} {
		e := circuitbreaker.Kind.Resolve(layers(c.said...))
		l, b := e.Conf.(*circuitbreaker.Conf).ConnectionLimits, &circuitbreaker.RetryBudget{}
		if l.RetryBudget != nil {
			b = l.RetryBudget
		}
		got := shown(l.MaxRetries) + " " + shown(b.BudgetPercent) + " " + shown(b.MinRetryConcurrency)
		replaced := ""
		for _, r := range e.Replaced {
			replaced += circuitbreaker.Kind.Schema.Leaves[r.Field.Field].Path + " by " + r.By.Origin.Name + ";"
			for _, s := range r.Said {
				if s.Lost != merge.ByAlternative {
					t.Errorf("%s: %s lost by %q", name, s.Origin.Name, s.Lost)
				}
			}
		}
		if got != c.want || replaced != c.replaced {
			t.Errorf("%s: %s, replaced %q; want %s, replaced %q", name, got, replaced, c.want, c.replaced)
		}
	}
}

func shown[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// written is what holds by documents.
func written(all []merge.Layer) map[int]any {
	out := map[int]any{}
	for _, f := range circuitbreaker.Kind.Resolve(all).Fields {
		if f.Winner().Layer != merge.Default {
			out[f.Field] = f.Value()
		}
	}
	return out
}

// TestAlternativesInSteps: whoever lays layers in two steps comes to the same limits, but for what is built in.
func TestAlternativesInSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var said []*circuitbreaker.ConnectionLimits
		for range rapid.IntRange(1, 5).Draw(t, "layers") {
			n := rapid.Uint32Range(1, 9).Draw(t, "n")
			said = append(said, rapid.SampledFrom([]*circuitbreaker.ConnectionLimits{retries(n), percent(fmt.Sprint(n)), least(n)}).Draw(t, "says"))
		}
		all := layers(said...)
		cut := rapid.IntRange(1, len(all)).Draw(t, "cut")
		below := merge.Layer{Name: merge.Mesh, Origin: &api.Origin{}}
		for _, f := range circuitbreaker.Kind.Resolve(all[:cut]).Fields {
			if f.Winner().Layer != merge.Default {
				below.Leaves = append(below.Leaves, merge.Leaf{Field: f.Field, Value: f.Value()})
			}
		}
		one, other := written(all), written(append([]merge.Layer{below}, all[cut:]...))
		if !policies.SameValue(one, other) {
			t.Fatalf("%v, and in steps %v", one, other)
		}
	})
}
