package faults_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sim/faults"
)

// TestFates: delay and abort are independent draws, the delay comes first, and faults act one after the other
// (spec/kinds.md F8).
func TestFates(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		list []faults.Fault
		want string // probability, delay, status
	}{
		"nothing":          {nil, "1 0s 0"},
		"four quarters":    {[]faults.Fault{{Delay: s, Delayed: 0.5, Status: 503, Aborted: 0.5}}, "0.25 0s 0; 0.25 0s 503; 0.25 1s 0; 0.25 1s 503"},
		"a half, quarters": {[]faults.Fault{{Status: 500, Aborted: 0.5}, {Index: 1, Status: 503, Aborted: 0.5}}, "0.25 0s 0; 0.25 0s 503; 0.5 0s 500"},
		"all":              {[]faults.Fault{{Delay: s, Delayed: 1, Status: 503, Aborted: 1}, {Index: 1, Status: 500, Aborted: 1}}, "1 1s 503"},
		"delays add up":    {[]faults.Fault{{Delay: s, Delayed: 1}, {Index: 1, Delay: 2 * s, Delayed: 0.5}}, "0.5 1s 0; 0.5 3s 0"},
		"slow answers":     {[]faults.Fault{{Bandwidth: "1kbps", Slowed: 0.5}}, "1 0s 0"},
	} {
		f := faults.Faulty{Field: "http", Faults: c.list}
		list, unknown := f.Fates()
		var got []string
		for _, a := range list {
			got = append(got, fmt.Sprint(a.Probability, " ", a.Delay, " ", a.Status))
		}
		slices.Sort(got)
		if text := strings.Join(got, "; "); text != c.want || len(unknown) > 0 {
			t.Errorf("%s: %s, want %s; %q", name, text, c.want, unknown)
		}
	}
}

// TestFatesAreAll: their probabilities add up to one, they are not more than people read, and what is left out is told.
func TestFatesAreAll(t *testing.T) {
	t.Parallel()
	share := rapid.SampledFrom([]float64{0, 0.01, 0.5, 1})
	rapid.Check(t, func(t *rapid.T) {
		f := faults.Faulty{Field: "http"}
		for j := range rapid.IntRange(0, 16).Draw(t, "faults") {
			f.Faults = append(f.Faults, faults.Fault{
				Index: j, Delay: time.Duration(1+j) * time.Second, Delayed: share.Draw(t, "delayed"), Status: 500 + uint32(j), Aborted: share.Draw(t, "aborted"),
			})
		}
		list, unknown := f.Fates()
		sum, delays := 0.0, 0
		for _, a := range list {
			sum += a.Probability
			if a.Probability <= 0 || (a.Status != 0 || a.Delay > 0) && len(a.Met) == 0 {
				t.Fatalf("%+v", a)
			}
		}
		for _, x := range f.Faults {
			if x.Delayed == 1 {
				delays++
			}
		}
		if math.Abs(sum-1) > 1e-9 || len(list) > 64*17 || len(unknown) > len(f.Faults)-delays {
			t.Fatalf("%d fates are %v of all, %d told", len(list), sum, len(unknown))
		}
	})
}
