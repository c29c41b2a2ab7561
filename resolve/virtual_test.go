package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestNames says what resolves beside each dataplane of the cases under testdata/names, and
// what stands in the status of each service.
func TestNames(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	cases.Files(t, "testdata/names/*.txtar", func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive {
		return wants(a, names(c.compile(t, file, a.Files[0].Data)))
	})
}

// TestGeneratorsOfTheZoneComeFirst: what was not written with another origin is of the zone of
// its control plane (spec/kubernetes.md 3.9), and has the first word before older ones of all.
func TestGeneratorsOfTheZoneComeFirst(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	generator := func(name, origin string, created int64) *api.Object {
		o := *worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type": "HostnameGenerator", "name": %q, "labels": {%s}, "spec": {"selector": {"meshService": {"matchLabels": {"of": %q}}}, "template": "one.example"}}`, name, origin, name))
		o.Created = time.Unix(created, 0)
		return &o
	}
	service := func(name string) *api.Object {
		return worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type": "MeshService", "mesh": "default", "name": %q, "labels": {"of": %q}, "spec": {"selector": {"dataplaneTags": {"app": "a"}}, "ports": [{"port": 80}]}}`, name, name))
	}
	m, _ := resolve.CompileIn(api.Zone{Name: "one"}, snapshot.New(1, service("old"), service("young"), generator("old", `"kuma.io/origin": "global"`, 1), generator("young", "", 2)), c.dialects, c.kinds)
	d, _ := m.Destination("default", "young:80")
	if !slices.Contains(d.Hostnames, "one.example") {
		t.Errorf("young is called %v", d.Hostnames)
	}
}

// names writes what has to do with the names of a model.
func names(m *resolve.Model) string {
	var b strings.Builder
	for r := range m.Dataplanes("") {
		fmt.Fprintln(&b, r.Ref)
		for _, h := range m.Hostnames(r.Ref.Mesh, m.CallsAs(r.Ref), nil).List {
			last := ""
			if h.Last {
				last = " last"
			}
			fmt.Fprintf(&b, " %s %s%s\n", h.Name, strings.Join(h.Addresses, " "), last)
		}
	}
	q := m.Reader(nil)
	for o := range m.Snapshot().All() {
		report, ok := q.ServiceReport(o.Ref, func(r api.Ref) bool { return r.Name == "connected" })
		if !ok {
			continue
		}
		fmt.Fprintln(&b, o.Ref)
		for _, a := range report.Addresses {
			fmt.Fprintf(&b, " address %s %s\n", a.Hostname, a.Origin)
		}
		for _, v := range report.VIPs {
			fmt.Fprintf(&b, " vip %s\n", v.IP)
		}
		for _, g := range report.HostnameGenerators {
			fmt.Fprintf(&b, " %s %s %s %s\n", g.HostnameGeneratorRef.CoreName, g.Conditions[0].Status, g.Conditions[0].Reason, g.Conditions[0].Message)
		}
		if p := report.DataplaneProxies; p != nil {
			fmt.Fprintf(&b, " dataplanes %d, connected %d, healthy %d\n", p.Total, p.Connected, p.Healthy)
		}
	}
	for n := range m.Notes() {
		if n.Code == "Collision" || n.Code == "TemplateError" {
			fmt.Fprintf(&b, "note %s %s %s\n", n.Origin.Ref, n.Code, n.Message)
		}
	}
	return b.String()
}

// TestVIPsStay: one more service among many moves nobody's address, nor anything else of them.
func TestVIPsStay(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	var objects []*api.Object
	for i := range 300 {
		objects = append(objects, worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type": "MeshService", "mesh": "default", "name": "s%d", "spec": {"selector": {"dataplaneTags": {"app": "a"}}, "ports": [{"port": 80}]}}`, i)))
	}
	before := snapshot.New(1, objects[:299]...)
	model, _ := resolve.Compile(before, c.dialects, c.kinds)
	changes := []snapshot.Change{{After: objects[299]}}
	next, _ := model.Update(before.With(2, changes), changes)
	for d := range model.Destinations("default") {
		if now, _ := next.Destination("default", d.ID); now != d {
			t.Errorf("%s was %v and is %v", d.ID, d.VIPs, now.VIPs)
		}
	}
}
