package control_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// firstAnswers is how many revisions a row asks first, of which the median counts.
const firstAnswers = 3

// An answer needs 20 ms of CPU at most, its share of the garbage collector's
// included. The benchmark's own side reads the answer in the same process, for which there is room.
// Time is reported and bounds nothing: other work on the machine changes it.
const (
	answerCPU = 20 * time.Millisecond
	room      = 5 * time.Millisecond
)

// grows is by which part of what lives the heap of a large control plane grows until garbage is
// collected (memory.go).
const grows = 0.33

// mostGarbage is how much is left lying between answers.
const mostGarbage = 1 << 30

// garbage is what an answer pays for what it leaves behind. None is collected while answers are measured:
// to collect that of the state of 10,000 sidecars takes longer than a dozen answers, for which some
// rows would pay, and others not. price is the CPU for each byte.
type garbage struct{ price float64 }

// stopCollector finds out what a collection needs, and has none happen but between answers.
func stopCollector(b *testing.B) garbage {
	debug.SetGCPercent(-1)
	var costs []time.Duration
	for range 3 {
		idle(b)
		before := cpu(b)
		runtime.GC()
		costs = append(costs, cpu(b)-before)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c := garbage{float64(middle(costs)) / (grows * float64(m.HeapAlloc))}
	b.Logf("%d MiB live, a collection needs %v of CPU, which is %.1f ms for each MiB of garbage", m.HeapAlloc>>20, middle(costs), c.price*(1<<20)/1e6)
	return c
}

// measure is what one answer took; garbage is what of cpu the collector will need.
type measure struct {
	took, cpu, garbage time.Duration
	size, left         int
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
		return middle(list)
	}
	used := median(func(m measure) time.Duration { return m.cpu })
	b.ReportMetric(milliseconds(median(func(m measure) time.Duration { return m.took })), "ms/op")
	b.ReportMetric(milliseconds(used), "cpu-ms/op")
	b.ReportMetric(milliseconds(median(func(m measure) time.Duration { return m.garbage })), "gc-ms/op")
	b.ReportMetric(float64(c[len(c)-1].left)/1024, "garbage-KiB")
	b.ReportMetric(float64(c[len(c)-1].size)/1024, "KiB")
	b.ReportMetric(0, "ns/op")
	if bound := max(answerCPU, slices.Max(known)) + room; used > bound {
		b.Errorf("needs %v of CPU, of %v: %v of it to collect %d KiB, in %v, for %d KiB", used, bound, median(func(m measure) time.Duration { return m.garbage }),
			c[len(c)-1].left>>10, median(func(m measure) time.Duration { return m.took }), c[len(c)-1].size>>10)
	}
}

// cost asks once, and tells what that took.
func (c garbage) cost(b *testing.B, p *plane, method, path, body string) measure {
	var start, end runtime.MemStats
	if runtime.ReadMemStats(&start); start.HeapAlloc > mostGarbage {
		runtime.GC()
	}
	before, began := cpu(b), time.Now()
	size := p.measured(b, method, path, body)
	used, took := cpu(b)-before, time.Since(began)
	runtime.ReadMemStats(&end)
	left := end.TotalAlloc - start.TotalAlloc
	garbage := time.Duration(c.price * float64(left))
	return measure{took, used + garbage, garbage, size, int(left)}
}

// changed writes a policy with another number, and returns when sidecars have it and the process
// is idle.
func (p *plane) changed(b *testing.B, n int) {
	p.post("/_apply", strings.Replace(edited, `"numRetries":9`, fmt.Sprintf(`"numRetries":%d`, 10+n%2), 1))
	calm(b)
}

// idle collects garbage, and waits until the process does nothing.
func idle(b *testing.B) {
	b.Helper()
	runtime.GC()
	calm(b)
}

// calm waits until the process does nothing.
func calm(b *testing.B) {
	b.Helper()
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
// again as was measured (docs/decisions/answers.md). Those called whole are megabytes of text.
var dear = map[string]time.Duration{
	"GET /_diff":                                                     40 * time.Millisecond,
	"GET /meshes/{mesh}/_permissions":                                30 * time.Millisecond,
	"GET /meshes/{mesh}/_status":                                     35 * time.Millisecond,
	"GET /meshes/{mesh}/_status whole":                               500 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes+insights whole":                   50 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_config":                   50 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_config shadow":            85 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_explain brief wide whole": 175 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_explain wide whole":       360 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_rules":                    145 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_rules wide whole":         240 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/policies wide whole":       140 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/rules wide whole":          105 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/xds":                       60 * time.Millisecond,
	"GET /meshes/{mesh}/{plural} of policies":                        35 * time.Millisecond,
	"GET /meshes/{mesh}/{plural}/{name}/_explain of everybody":       50 * time.Millisecond,
	"POST /_apply": 35 * time.Millisecond,
}

// dearFirst are those of which the first after a change needs still more.
var dearFirst = map[string]time.Duration{
	"GET /_problems":                                                 60 * time.Millisecond,
	"GET /meshes/{mesh}/_status whole":                               715 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes+insights whole":                   110 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_config shadow":            110 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_explain brief wide whole": 225 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_explain wide whole":       505 * time.Millisecond,
	"GET /meshes/{mesh}/dataplanes/{name}/_rules":                    210 * time.Millisecond,
	"GET /meshes/{mesh}/{plural}/{name}/_explain of everybody":       95 * time.Millisecond,
	"GET /metrics": 50 * time.Millisecond,
}
