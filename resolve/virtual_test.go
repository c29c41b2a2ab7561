package resolve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestNamesUpdateEqualsCompile is the law of updates for worlds of services that nobody gave
// an address, or several the same.
func TestNamesUpdateEqualsCompile(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		snapshot := api.NewSnapshot(0)
		model, _ := resolve.CompileIn(api.Zone{Name: "one"}, snapshot, c.dialects, c.kinds)
		for step := range rapid.IntRange(1, 10).Draw(t, "steps") {
			changes := worlds.ChangesOf(t, snapshot, c.namedDocument)
			snapshot = snapshot.With(uint64(step+1), changes)
			next, affected := model.Update(snapshot, changes)
			clean, _ := resolve.CompileIn(api.Zone{Name: "one"}, snapshot, c.dialects, c.kinds)
			if diff := cmp.Diff(dump(clean)+names(clean), dump(next)+names(next)); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) differ:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			checkAffected(t, model, next, affected, changes)
			checkVIPs(t, next)
			model = next
		}
	})
}

// namedDocument draws a document that has to do with names and addresses.
func (c *composition) namedDocument(t *rapid.T) *api.Object {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	name := pick("name", "a", "b", "c")
	doc := map[string]any{"mesh": "default", "name": name, "labels": map[string]string{"team": pick("team", "x", "y")}}
	kind := pick("kind", api.KindDataplane, api.KindMeshService, api.KindMeshService, api.KindMeshExternalService, api.KindHostnameGenerator)
	doc["type"] = kind
	switch kind {
	case api.KindHostnameGenerator:
		delete(doc, "mesh")
		if pick("replaces", "no", "no", "yes") == "yes" {
			doc["name"] = resolve.DefaultGenerator
		}
		if origin := pick("origin", "", "zone", "global"); origin != "" {
			doc["labels"] = map[string]string{"kuma.io/origin": origin}
		}
		selector := map[string]any{pick("selects", "meshService", "meshExternalService"): map[string]any{"matchLabels": map[string]string{"team": pick("of", "x", "y")}}}
		doc["spec"] = map[string]any{"selector": selector, "template": pick("template", "{{ .DisplayName }}.extsvc.mesh.local", "one.mesh", `{{ label "team" }}.mesh`, `{{ label "none" }}`)}
	case api.KindDataplane:
		doc["networking"] = map[string]any{"address": "127.0.0.2", "transparentProxying": map[string]any{"redirectPortInbound": 15006, "redirectPortOutbound": 15001}}
	case api.KindMeshService:
		doc["spec"] = map[string]any{"selector": map[string]any{"dataplaneTags": map[string]string{"app": "a"}}, "ports": []any{map[string]any{"port": 80, "appProtocol": "http"}}}
	case api.KindMeshExternalService:
		doc["spec"] = map[string]any{"match": map[string]any{"type": "HostnameGenerator", "port": 80, "protocol": "http"}, "endpoints": []any{map[string]any{"address": "192.0.2.1", "port": 80}}}
	}
	if ip := pick("stored", "", "", "241.0.0.1", "241.0.0.2", "10.0.0.1"); ip != "" && kind != api.KindDataplane && kind != api.KindHostnameGenerator {
		doc["status"] = map[string]any{"vips": []any{map[string]any{"ip": ip}}}
	}
	out, _ := json.Marshal(doc)
	o := *worlds.Decode(t, c.catalog, string(out))
	o.Created = time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "created")), 0)
	return &o
}

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
	m, _ := resolve.CompileIn(api.Zone{Name: "one"}, api.NewSnapshot(1, service("old"), service("young"), generator("old", `"kuma.io/origin": "global"`, 1), generator("young", "", 2)), c.dialects, c.kinds)
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

// checkVIPs holds that no virtual address is that of two services, and that each has one.
func checkVIPs(t worlds.Fataler, m *resolve.Model) {
	t.Helper()
	by := map[string]api.Ref{}
	for d := range m.Destinations("default") {
		if len(d.VIPs) == 0 && d.Ref.Name != "" {
			t.Fatalf("%s has no virtual address", d.ID)
		}
		for _, ip := range d.VIPs {
			if other, taken := by[ip]; taken && other != d.Ref {
				t.Fatalf("%s is the address of %s and %s", ip, other, d.Ref)
			}
			by[ip] = d.Ref
		}
	}
}

// TestVIPsStay: one more service among many moves nobody's address, nor anything else of them.
func TestVIPsStay(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	var objects []*api.Object
	for i := range 300 {
		objects = append(objects, worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type": "MeshService", "mesh": "default", "name": "s%d", "spec": {"selector": {"dataplaneTags": {"app": "a"}}, "ports": [{"port": 80}]}}`, i)))
	}
	before := api.NewSnapshot(1, objects[:299]...)
	model, _ := resolve.Compile(before, c.dialects, c.kinds)
	changes := []api.Change{{After: objects[299]}}
	next, _ := model.Update(before.With(2, changes), changes)
	for d := range model.Destinations("default") {
		if now, _ := next.Destination("default", d.ID); now != d {
			t.Errorf("%s was %v and is %v", d.ID, d.VIPs, now.VIPs)
		}
	}
}
