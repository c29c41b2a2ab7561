package resolve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/resolve/reachability"
)

// TestNamesUpdateEqualsCompile is the law of updates for worlds of services that nobody gave
// an address, or several the same, in several meshes and namespaces, with generators whose
// names meet each other, those of services, hosts of routes and names of clusters.
func TestNamesUpdateEqualsCompile(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		snapshot := snapshot.New(0)
		model, _ := resolve.CompileIn(api.Zone{Name: "one"}, snapshot, c.dialects, c.kinds)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			changes := worlds.ChangesOf(t, snapshot, c.namedDocument)
			snapshot = snapshot.With(uint64(step+1), changes)
			next, affected := model.Update(snapshot, changes)
			clean, _ := resolve.CompileIn(api.Zone{Name: "one"}, snapshot, c.dialects, c.kinds)
			if diff := cmp.Diff(resolvetest.Dump(clean)+resolvetest.Names(clean), resolvetest.Dump(next)+resolvetest.Names(next)); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) differ:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			checkAffected(t, model, next, affected, changes)
			checkVIPs(t, next)
			checkHeard(t, next)
			checkNames(t, model, next)
			checkTold(t, model, next, affected)
			model = next
		}
	})
}

// namedDocument draws a document that has to do with names and addresses.
func (c *composition) namedDocument(t *rapid.T) *api.Object {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	name, space := pick("name", "a", "b", "c"), pick("namespace", "", "shop", "bare")
	labels := map[string]string{"team": pick("team", "x", "y")}
	kind := pick("kind", api.KindDataplane, api.KindMeshService, api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService,
		api.KindHostnameGenerator, api.KindHostnameGenerator, api.KindService, api.KindNamespace, "HTTPProxy")
	doc := map[string]any{"type": kind, "mesh": pick("mesh", "default", "default", "default", "other"), "name": name, "labels": labels}
	if space != "" {
		labels["k8s.kuma.io/namespace"] = space
	}
	metadata := func(name, space string) map[string]any {
		return map[string]any{"name": name, "namespace": space, "labels": map[string]string{"team": labels["team"]}}
	}
	switch kind {
	case api.KindHostnameGenerator:
		doc = generatorDocument(pick, name, labels)
	case api.KindDataplane:
		redirection := map[string]any{"ipFamilyMode": pick("families", "IPv4", "DualStack", "IPv6")}
		if pick("limited", "no", "no", "yes") == "yes" {
			redirection["reachableBackends"] = map[string]any{"refs": []any{map[string]any{"kind": api.KindMeshService, "name": "a"}}}
		}
		doc["networking"] = map[string]any{"address": "127.0.0.2", "transparentProxying": redirection}
	case api.KindMeshService:
		doc["spec"] = map[string]any{"selector": map[string]any{"dataplaneTags": map[string]string{"app": "a"}}, "ports": []any{map[string]any{"port": 80, "appProtocol": "http"}}}
	case api.KindMeshMultiZoneService:
		doc["spec"] = map[string]any{"selector": map[string]any{"meshService": map[string]any{"matchLabels": map[string]string{"team": "x"}}}, "ports": []any{map[string]any{"port": 80}}}
	case api.KindMeshExternalService:
		doc["spec"] = map[string]any{"match": map[string]any{"type": "HostnameGenerator", "port": 80, "protocol": "http"}, "endpoints": []any{map[string]any{"address": "192.0.2.1", "port": 80}}}
	case api.KindService:
		home := pick("home", "shop", "bare")
		at := map[string]string{"four": "10.96." + map[string]string{"shop": "1.", "bare": "2."}[home] + fmt.Sprint(name[0]), "six": "fd00::" + home[:1] + name, "none": "None"}
		at["six"] = strings.ReplaceAll(at["six"], "s", "5")
		spec := map[string]any{"clusterIP": at[pick("clusterIP", "four", "six", "none")], "ports": []any{map[string]any{"port": 80}}}
		doc = map[string]any{"apiVersion": "v1", "kind": kind, "metadata": metadata(name, home), "spec": spec}
	case api.KindNamespace:
		injection := map[string]string{"kuma.io/sidecar-injection": pick("injection", "enabled", "disabled")}
		doc = map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": pick("home", "shop", "bare"), "labels": injection}}
	case "HTTPProxy":
		host := pick("host", "one.example", "*.example", "a.mesh", "b.shop.svc.cluster.local")
		doc = map[string]any{"apiVersion": "projectcontour.io/v1", "kind": kind, "metadata": metadata(name, pick("home", "shop", "bare")), "spec": map[string]any{
			"virtualhost": map[string]any{"fqdn": host}, "routes": []any{map[string]any{"services": []any{map[string]any{"name": "a", "port": 80}}}}}}
	}
	if ip := pick("stored", "", "", "241.0.0.1", "241.0.0.2", "10.0.0.1"); ip != "" && (kind == api.KindMeshService || kind == api.KindMeshExternalService || kind == api.KindMeshMultiZoneService) {
		doc["status"] = map[string]any{"vips": []any{map[string]any{"ip": ip}}, "addresses": []any{map[string]any{"hostname": pick("written", "One.example", "two.example", "*.written.example")}}}
	}
	out, _ := json.Marshal(doc)
	o := *worlds.Decode(t, c.catalog, string(out))
	o.Created = time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "created")), 0)
	return &o
}

func generatorDocument(pick func(string, ...string) string, name string, labels map[string]string) map[string]any {
	doc := map[string]any{"type": api.KindHostnameGenerator, "name": name}
	if pick("replaces", "no", "no", "yes") == "yes" {
		doc["name"] = hostnames.DefaultGenerator
	}
	if origin := pick("origin", "", "zone", "global"); origin != "" {
		doc["labels"] = map[string]string{"kuma.io/origin": origin}
	}
	selector := map[string]any{pick("selects", "meshService", "meshService", "meshExternalService", "meshMultiZoneService"): map[string]any{"matchLabels": map[string]string{"team": labels["team"]}}}
	doc["spec"] = map[string]any{"selector": selector, "template": pick("template", "{{ .DisplayName }}.extsvc.mesh.local", "a.mesh", "one.example", "a.shop.svc.cluster.local",
		"x.example", `{{ label "team" }}.mesh`, `{{ label "none" }}`, "{{ .DisplayName }}.{{ .Namespace }}.example")}
	return doc
}

// checkVIPs holds that no virtual address is that of two services of a mesh, and that each has
// one that is not the cluster's.
func checkVIPs(t worlds.Fataler, m *resolve.Model) {
	t.Helper()
	for _, mesh := range []string{"default", "other"} {
		by := map[string]api.Ref{}
		for d := range m.Destinations(mesh) {
			if d.Ref.Name == "" || d.Ref.Kind == api.KindService {
				continue
			}
			if len(d.VIPs) == 0 {
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
}

// checkHeard holds that what resolves beside a dataplane is what the status of services says,
// and leads to listeners of its sidecar.
func checkHeard(t worlds.Fataler, m *resolve.Model) {
	t.Helper()
	holders := map[[2]string]*api.ServiceReport{} // of generated names, by mesh and name
	for o := range m.Snapshot().All() {
		report, ok := m.Reader(nil).ServiceReport(o.Ref, nil)
		if !ok {
			continue
		}
		for _, a := range report.Addresses {
			// A name that a service has by itself may be that of several, and then follows the caller.
			if own := func(x api.ServiceAddress) bool { return x.Origin == "" && strings.EqualFold(x.Hostname, a.Hostname) }; a.Origin != "HostnameGenerator" ||
				a.Hostname == o.DisplayName()+".mesh" || slices.ContainsFunc(report.Addresses, own) {
				continue
			}
			at := [2]string{o.Ref.Mesh, a.Hostname}
			if holders[at] != nil {
				t.Fatalf("%s has the name %s, and so has another", o.Ref, a.Hostname)
			}
			holders[at] = report
		}
	}
	for r := range m.Dataplanes("") {
		list := m.Hostnames(r.Ref.Mesh, m.CallsAs(r.Ref), nil).List
		if !slices.IsSortedFunc(list, func(a, b reachability.Hostname) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("%s: names are out of order", r.Ref)
		}
		listens := map[string]bool{}
		for _, o := range r.Outbounds {
			listens[o.Address] = true
		}
		redirected := r.Dataplane.Spec.(*api.Dataplane).Networking.TransparentProxying
		told := map[string]reachability.Hostname{}
		for _, h := range list {
			if _, twice := told[h.Name]; twice || h.Name != strings.ToLower(h.Name) || strings.HasSuffix(h.Name, ".svc.cluster.local") {
				t.Fatalf("%s is told of %s", r.Ref, h.Name)
			}
			told[h.Name] = h
			for _, ip := range h.Addresses {
				if !redirected.Redirects(ip) || !h.Last && !listens[ip] {
					t.Fatalf("%s is told of %s at %s, where its sidecar does not listen", r.Ref, h.Name, ip)
				}
			}
			if report := holders[[2]string{r.Ref.Mesh, h.Name}]; report != nil && (h.Last || !slices.Equal(h.Addresses, within(report, redirected))) {
				t.Fatalf("%s is told of %s at %v, and its holder has %v", r.Ref, h.Name, h.Addresses, report.VIPs)
			}
		}
		for at, report := range holders {
			if _, ok := told[at[1]]; !ok && at[0] == r.Ref.Mesh && redirected.ReachableBackends == nil && len(within(report, redirected)) > 0 && !strings.HasSuffix(at[1], ".svc.cluster.local") {
				t.Fatalf("%s is not told of %s", r.Ref, at[1])
			}
		}
	}
}

// within are the virtual addresses of a service in the families that are redirected, sorted.
func within(report *api.ServiceReport, redirected *api.TransparentProxying) []string {
	var out []string
	for _, v := range report.VIPs {
		if redirected.Redirects(v.IP) {
			out = append(out, v.IP)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkTold holds that who is to be told other names than before is among those that an update
// concerns: nobody else looks.
func checkTold(t worlds.Fataler, before, after *resolve.Model, affected resolve.Affected) {
	t.Helper()
	for r := range after.Dataplanes("") {
		was, is := before.Hostnames(r.Ref.Mesh, before.CallsAs(r.Ref), nil), after.Hostnames(r.Ref.Mesh, after.CallsAs(r.Ref), nil)
		if was.Version != is.Version && !slices.Contains(affected.Dataplanes, r.Ref) {
			t.Fatalf("%s is not told that its names are %v, not %v", r.Ref, is.List, was.List)
		}
	}
}
