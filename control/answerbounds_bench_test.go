package control_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// firstAnswers is how many revisions a row asks first, of which the median counts.
const firstAnswers = 5

// An answer needs 20 ms of CPU at most (design/routes.md 5). What is measured is the CPU of the
// process: the benchmark's own side, its 10,000 streams and the garbage of both included, for
// which there is room. Time is reported and bounds nothing: other work on the machine changes it.
const (
	answerCPU = 20 * time.Millisecond
	room      = 10 * time.Millisecond
)

// measure is what one answer took.
type measure struct {
	took, cpu time.Duration
	size      int
}

// answerCost are the measures of a row.
type answerCost []measure

// report tells medians, and fails where more CPU than the bound was needed, or than one of known,
// bounds of an answer that needs more than others.
func (c answerCost) report(b *testing.B, known ...time.Duration) {
	median := func(of func(measure) time.Duration) time.Duration {
		var list []time.Duration
		for _, m := range c {
			list = append(list, of(m))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	took, used := median(func(m measure) time.Duration { return m.took }), median(func(m measure) time.Duration { return m.cpu })
	b.ReportMetric(float64(took.Microseconds())/1000, "ms/op")
	b.ReportMetric(float64(used.Microseconds())/1000, "cpu-ms/op")
	b.ReportMetric(float64(c[len(c)-1].size)/1024, "KiB")
	b.ReportMetric(0, "ns/op")
	if bound := max(answerCPU, slices.Max(known)) + room; used > bound {
		b.Errorf("needs %v of CPU, of %v", used, bound)
	}
}

// cost asks once, and tells what that took.
func (p *plane) cost(b *testing.B, method, path, body string) measure {
	before, began := cpu(b), time.Now()
	size := p.measured(b, method, path, body)
	return measure{time.Since(began), cpu(b) - before, size}
}

// changed writes a policy with another number, and returns when sidecars have it and the process
// is idle.
func (p *plane) changed(b *testing.B, n int) {
	p.post("/_apply", strings.Replace(edited, `"numRetries":9`, fmt.Sprintf(`"numRetries":%d`, 10+n%2), 1))
	idle(b)
}

// idle collects garbage, and waits until the process does nothing.
func idle(b *testing.B) {
	b.Helper()
	runtime.GC()
	idle := 0
	eventually(b, "the control plane is idle", func() bool {
		before := cpu(b)
		time.Sleep(10 * time.Millisecond)
		if cpu(b)-before < time.Millisecond {
			idle++
		} else {
			idle = 0
		}
		return idle == 3
	})
}

// dear are answers that need more than that, with what none of them may exceed: half as much
// again as was measured (docs/decisions.md). Those called whole are megabytes of text.
var dear = map[string]time.Duration{
	"GET /meshes/{mesh}/_permissions":                                45 * time.Millisecond,
	"GET /meshes/{mesh}/_status whole":                               450 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes+insights whole":                   60 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_config shadow":            50 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_explain brief wide whole": 140 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_explain wide whole":       240 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_rules":                    140 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_rules wide whole":         260 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/policies wide whole":       70 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/rules wide whole":          45 * time.Millisecond,
}

// dearFirst are those of which the first after a change needs still more.
var dearFirst = map[string]time.Duration{
	"GET /_problems": 75 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_config shadow":      100 * time.Millisecond,
	"GET /meshes/{mesh}/{plural}/{name}/_explain of everybody": 40 * time.Millisecond,
}
