package derive_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/weftmesh/weft/resolve/derive"
)

// perRead is the law of memory: how many bytes a recorded read may take, both
// directions together.
const perRead = 48

// heap is what a graph takes.
func heap(g *derive.Graph) int {
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	runtime.KeepAlive(g)
	runtime.GC()
	runtime.ReadMemStats(&without)
	return int(with.HeapAlloc) - int(without.HeapAlloc)
}

// TestAReadTakesFewBytes builds one graph whose derivations read twenty things
// each, in no order, and one whose derivations read nothing: their difference is
// what the reads take.
func TestAReadTakesFewBytes(t *testing.T) {
	const size, reads = 4000, 20
	graph := func(read int) *derive.Graph {
		s := &derive.Schema{}
		source := derive.Source(s, "source", derive.Values[value]{})
		made := new(value)
		derive.Derive(s, "derived", source, derive.Values[value]{}, func(r *derive.Reader, key string) *value {
			var n int
			fmt.Sscan(key, &n)
			for i := range read {
				source.Get(r, fmt.Sprint((n*7919+i*1009)%size))
			}
			return made
		})
		var changes []derive.Change
		for n := range size {
			changes = append(changes, source.Put(fmt.Sprint(n), made))
		}
		g, _ := s.New().Update(changes...)
		return g
	}
	recorded := graph(reads).Reads()
	bytes := (heap(graph(reads)) - heap(graph(0))) / recorded
	t.Logf("%d bytes a read, of %d", bytes, recorded)
	if recorded != size*reads || bytes > perRead || bytes < 12 {
		t.Errorf("%d reads take %d bytes each, at most %d are allowed", recorded, bytes, perRead)
	}
}

// size is how large a mesh is.
type size struct{ services, policies, planes, calls int }

// The meshes of the benchmarks: policies for each service, and dataplanes with
// some calls each.
var (
	usual = size{1000, 5, 1000, 20}
	large = size{1000, 5, 10000, 50}
)

// doc stands for a document: what it names, and a number that it sets.
type doc struct {
	names  []string
	number int
}

// mesh has the shape of a mesh: what is said about each service, the tables of
// what is called, and what holds for each dataplane.
type mesh struct {
	schema                       *derive.Schema
	services, policies, planes   *derive.Collection[doc]
	subjects, tables, resolved   *derive.Collection[[]*doc]
	policiesNaming, planesNaming *derive.Index[doc]
}

func newMesh() *mesh {
	m := &mesh{schema: &derive.Schema{}}
	docs := derive.Values[doc]{Equal: func(a, b *doc) bool { return a.number == b.number && slices.Equal(a.names, b.names) }}
	lists := derive.Values[[]*doc]{Equal: func(a, b *[]*doc) bool { return slices.Equal(*a, *b) }}
	naming := func(_ string, d *doc, add func(string)) {
		for _, n := range d.names {
			add(n)
		}
	}
	m.services = derive.Source(m.schema, "services", docs)
	m.policies = derive.Source(m.schema, "policies", docs)
	m.planes = derive.Source(m.schema, "dataplanes", docs)
	m.policiesNaming, m.planesNaming = m.policies.Index(naming), m.planes.Index(naming)
	m.subjects = derive.Derive(m.schema, "subjects", m.services, lists, func(r *derive.Reader, key string) *[]*doc {
		service, _ := m.services.Get(r, key)
		out := []*doc{service}
		for _, p := range m.policiesNaming.In(r, key) {
			out = append(out, p)
		}
		return &out
	})
	m.tables = derive.Derive(m.schema, "tables", m.planesNaming, lists, func(r *derive.Reader, key string) *[]*doc {
		said, _ := m.subjects.Get(r, key)
		return said
	})
	m.resolved = derive.Derive(m.schema, "resolved", m.planes, lists, func(r *derive.Reader, key string) *[]*doc {
		plane, _ := m.planes.Get(r, key)
		var out []*doc
		for _, n := range plane.names {
			if table, _ := m.tables.Get(r, n); table != nil {
				out = append(out, (*table)[len(*table)-1])
			}
		}
		return &out
	})
	return m
}

func (m *mesh) changes(x size) []derive.Change {
	var out []derive.Change
	for s := range x.services {
		name := fmt.Sprint("svc-", s)
		out = append(out, m.services.Put(name, &doc{}))
		for p := range x.policies {
			out = append(out, m.policies.Put(fmt.Sprint(name, "-", p), &doc{names: []string{name}}))
		}
	}
	for p := range x.planes {
		d := &doc{}
		for k := range x.calls {
			d.names = append(d.names, fmt.Sprint("svc-", (p+k*7+1)%x.services))
		}
		out = append(out, m.planes.Put(fmt.Sprint("dp-", p), d))
	}
	return out
}

// BenchmarkNew derives the mesh from nothing.
func BenchmarkNew(b *testing.B) {
	m := newMesh()
	changes := m.changes(usual)
	b.ReportAllocs()
	reads := 0
	for b.Loop() {
		g, _ := m.schema.New().Update(changes...)
		reads = g.Reads()
	}
	b.ReportMetric(float64(reads), "reads")
}

// BenchmarkUpdate derives the mesh after a change of one policy, which concerns
// the twenty dataplanes that call its service.
func BenchmarkUpdate(b *testing.B) {
	m := newMesh()
	g, _ := m.schema.New().Update(m.changes(usual)...)
	ran, n := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		next, delta := g.Update(m.policies.Put("svc-13-4", &doc{[]string{"svc-13"}, n}))
		g, ran = next, m.resolved.Ran(delta)
	}
	b.ReportMetric(float64(ran), "dataplanes/op")
}

// BenchmarkState derives 10,000 dataplanes that call fifty services each, and says
// what the whole graph takes: for each dataplane, and for each recorded read.
func BenchmarkState(b *testing.B) {
	m := newMesh()
	var bytes, reads int
	for b.Loop() {
		g, _ := m.schema.New().Update(m.changes(large)...)
		reads = g.Reads()
		bytes = heap(g)
	}
	b.ReportMetric(float64(bytes)/float64(large.planes), "B/dataplane")
	b.ReportMetric(float64(bytes)/float64(reads), "B/read")
}
