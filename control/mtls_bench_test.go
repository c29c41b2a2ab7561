package control_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
)

// strictMesh is the Mesh of package worlds with mutual TLS, by the authority that signs and by
// all that there are.
const strictMesh = `{"type":"Mesh","name":"default","meshServices":{"mode":"Exclusive"},"mtls":{"enabledBackend":"%s","backends":[%s]}}`

// bounds of spec/identity.md 6.
const (
	firstIdentity = 200 * time.Millisecond
	allIdentities = 10 * time.Second
	rootStep      = 20 * time.Second
)

// fleetSize is of how many sidecars those bounds are.
const fleetSize = 2000

// BenchmarkMTLS measures what mutual TLS costs the control plane (spec/identity.md 6), and fails
// where a bound is not held. The sidecars are a process of their own.
func BenchmarkMTLS(b *testing.B) {
	b.Run("first_identity", firstIdentities)
	var each []float64
	for _, n := range []int{fleetSize, 2 * fleetSize} {
		b.Run(fmt.Sprintf("sidecars=%d", n), func(b *testing.B) {
			f := startFleet(b, n)
			f.identities(b)
			each = append(each, f.heap(b))
			b.Logf("mutual TLS: %.1f KiB of heap for each of %d sidecars", each[len(each)-1]/1024/float64(n), n)
			if n == fleetSize {
				f.permissions(b)
				f.steps(b)
			}
			f.end()
		})
	}
	if len(each) == 2 {
		per := (each[1] - each[0]) / fleetSize
		b.Logf("mutual TLS: one more sidecar needs %.0f bytes more", per)
		if per > heapEach {
			b.Errorf("these are more than %d", heapEach)
		}
	}
}

// heapEach is how many bytes more one more sidecar may need with mutual TLS.
const heapEach = 1 << 10

// firstIdentities starts sidecars, with real Envoys, in a strict mesh.
func firstIdentities(b *testing.B) {
	p := secure(b, discard())
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+fmt.Sprintf(mutual, "ca-1", `{name: ca-1, type: builtin}`))
	var took []time.Duration
	for n := range 10 {
		name := fmt.Sprintf("web-%d", n)
		p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument(name, "web"))
		token := p.dataplaneToken(name, "")
		var log journal
		began := time.Now()
		stop := p.sidecar(name, token, slog.New(slog.NewTextHandler(&log, nil)))
		for !strings.Contains(log.String(), "certificate of the workload") {
			time.Sleep(time.Millisecond)
			if time.Since(began) > time.Minute {
				b.Fatal("no certificate in a minute")
			}
		}
		took = append(took, time.Since(began))
		stop()
	}
	median := middle(took)
	b.ReportMetric(milliseconds(median), "ms/identity")
	b.ReportMetric(0, "ns/op")
	if median > firstIdentity {
		b.Errorf("a sidecar has its identity after %v", median)
	}
}

// benchedFleet are many connected sidecars.
type benchedFleet struct {
	*plane
	names []string
	plain float64 // the heap without mutual TLS
	end   func()
}

// startFleet connects so many sidecars to a control plane without mutual TLS.
func startFleet(b *testing.B, n int) *benchedFleet {
	b.Helper()
	p := secure(b, discard(), func(c *control.Config) { c.RotationSpread, c.ListenerDrain = time.Second, drain })
	var text strings.Builder
	for _, o := range worlds.MeshOf(b, world.Catalog(), n) {
		document, err := decode.PrintDocument(world.Catalog(), o)
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(&text, "---\n%s\n", document)
	}
	p.post("/_apply", text.String())
	p.post("/_apply", allowed)
	f := &benchedFleet{plane: p}
	var sidecars []fleetSidecar
	for i := range n {
		f.names = append(f.names, fmt.Sprintf("dp-%d", i))
		sidecars = append(sidecars, fleetSidecar{Name: f.names[i], Token: p.dataplaneToken(f.names[i], "")})
	}
	sunk := p.fleet(b, sidecars)
	f.end = func() { sunk(); p.stop() }
	f.all(b, "sidecars follow", func() int { _, follow, _ := f.Fleet(f.names); return follow })
	f.plain = f.live(b, "plain")
	return f
}

// all waits until all do something, of which more and more do.
func (f *benchedFleet) all(b *testing.B, what string, count func() int) {
	b.Helper()
	for n := count(); n < len(f.names); n = count() {
		eventually(b, fmt.Sprintf("more than %d of %d %s", n, len(f.names), what), func() bool { return count() > n })
	}
}

// drain is how long streams keep what connections of a former listener may need: shorter than it
// is for users, since what is kept for that time alone is not counted.
const drain = time.Second

// live is how many bytes live when nothing happens any more. What they are is written where
// WEFT_HEAPS names a directory.
func (f *benchedFleet) live(b *testing.B, what string) float64 {
	b.Helper()
	time.Sleep(2 * drain)
	f.Sweep() // what is kept for a minute only is not part of what a sidecar costs
	idle(b)
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	if dir := os.Getenv("WEFT_HEAPS"); dir != "" {
		w, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.heap", what, len(f.names))))
		if err != nil {
			b.Fatal(err)
		}
		defer w.Close()
		if err := pprof.WriteHeapProfile(w); err != nil {
			b.Fatal(err)
		}
	}
	return float64(m.HeapAlloc)
}

// identities switches mutual TLS on.
func (f *benchedFleet) identities(b *testing.B) {
	began := time.Now()
	f.post("/_apply", fmt.Sprintf(strictMesh, "ca-1", `{"name":"ca-1","type":"builtin"}`))
	f.all(b, "have identities", func() int { certified, _, _ := f.Fleet(f.names); return certified })
	took := time.Since(began)
	b.ReportMetric(took.Seconds(), "s/identities")
	b.ReportMetric(0, "ns/op")
	if took > allIdentities*time.Duration(len(f.names)/fleetSize) {
		b.Errorf("%d sidecars have identities after %v", len(f.names), took)
	}
	f.all(b, "follow", func() int { _, follow, _ := f.Fleet(f.names); return follow - f.TakesPlain() })
	b.ReportMetric(time.Since(began).Seconds(), "s/strict")
}

// heap is how much more lives with mutual TLS.
func (f *benchedFleet) heap(b *testing.B) float64 {
	more := f.live(b, "strict") - f.plain
	b.ReportMetric(f.plain/1024/float64(len(f.names)), "KiB/plain_sidecar")
	b.ReportMetric(more/1024/float64(len(f.names)), "KiB/identity")
	return more
}

// permissions changes a permission and a MeshRetry by turns: of two sidecars, and of all.
func (f *benchedFleet) permissions(b *testing.B) {
	some := []string{"dp-5", fmt.Sprintf("dp-%d", 5+(len(f.names)-1000))}
	for what, among := range map[string][]string{"some": some, "all": f.names} {
		top, rounds := `{"kind":"Dataplane","labels":{"app":"svc-5"}}`, 30
		if what == "all" {
			top, rounds = `{"kind":"Mesh"}`, 6
		}
		var permissions, retries []time.Duration
		for i := range rounds {
			_, _, before := f.Fleet(f.names)
			permissions = append(permissions, f.arrives(b, among, fmt.Sprintf(`{"type":"MeshTrafficPermission","mesh":"default","name":"p-%s","spec":{"targetRef":%s,"rules":[{"default":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/n%d"}}]}}]}}`, what, top, i)))
			if _, _, after := f.Fleet(f.names); after != before {
				b.Errorf("%d listeners are sent for a permission", after-before)
			}
			retries = append(retries, f.arrives(b, among, fmt.Sprintf(`{"type":"MeshRetry","mesh":"default","name":"r-%s","spec":{"targetRef":%s,"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":%d}}}]}}`, what, top, 3+i%5)))
		}
		p, r := middle(permissions), middle(retries)
		b.ReportMetric(milliseconds(p), "ms/permission_of_"+what)
		b.ReportMetric(milliseconds(r), "ms/retry_of_"+what)
	}
}

// arrives writes a document, and says after which time those have all that follows from it.
func (f *benchedFleet) arrives(b *testing.B, names []string, document string) time.Duration {
	idle(b)
	began := time.Now()
	f.post("/_apply", document)
	for {
		if _, follow, _ := f.Fleet(names); follow == len(names) {
			return time.Since(began)
		}
		time.Sleep(time.Millisecond)
		if time.Since(began) > time.Minute {
			b.Fatal("it does not arrive in a minute")
		}
	}
}

// steps has another root take over.
func (f *benchedFleet) steps(b *testing.B) {
	began := time.Now()
	f.post("/_apply", fmt.Sprintf(strictMesh, "ca-2", `{"name":"ca-1","type":"builtin"},{"name":"ca-2","type":"builtin"}`))
	at := func(phases ...string) {
		eventually(b, "another root is "+phases[0], func() bool { phase, _ := f.Phase(); return slices.Contains(phases, phase) })
	}
	at("Issuing", "Settling")
	trusted := time.Since(began)
	at("Settling")
	took := time.Since(began)
	b.ReportMetric(trusted.Seconds(), "s/trusted")
	b.ReportMetric(took.Seconds(), "s/root")
	if took > rootStep {
		b.Errorf("another root takes over in %v", took)
	}
}

// middle is the median.
func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
