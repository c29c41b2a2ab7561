package resolve_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/reachability"
)

// TestNamesAreMadeAnewWhereSomethingChanged: a change that no name follows from leaves the
// list of names the very same, one of a name or an address does not; and what is kept is
// what would be made.
func TestNamesAreMadeAnewWhereSomethingChanged(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	object := func(text string) *api.Object { return worlds.Decode(t, c.catalog, text) }
	service := func(name, hostname, vip string) *api.Object {
		return object(`{"type":"MeshService","mesh":"default","name":"` + name + `","spec":{"selector":{"dataplaneTags":{"app":"a"}},"ports":[{"port":80,"appProtocol":"http"}]},
			"status":{"addresses":[{"hostname":"` + hostname + `"}],"vips":[{"ip":"` + vip + `"}]}}`)
	}
	client := object(`{"type":"Dataplane","mesh":"default","name":"client","networking":{"address":"127.0.0.1","transparentProxying":{"redirectPortOutbound":15001}}}`)
	retry := func(n string) *api.Object {
		return object(`{"type":"MeshRetry","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":` + n + `}}}]}}`)
	}
	host := object(`{"apiVersion":"zalando.org/v1","kind":"RouteGroup","metadata":{"name":"shop"},"spec":{"hosts":["shop.example.org"],
		"backends":[{"name":"s","type":"shunt"}],"routes":[{"pathSubtree":"/","backends":[{"backendName":"s"}]}]}}`)
	server := object(`{"type":"Dataplane","mesh":"default","name":"b","networking":{"address":"127.0.0.3","inbound":[{"port":80,"tags":{"kuma.io/service":"a"}}]}}`)
	m, _ := resolve.Compile(snapshot.New(1, service("web", "web.internal", "241.0.0.1"), client, server, retry("1")), c.dialects, c.kinds)
	names := m.Hostnames("default", m.CallsAs(client.Ref), nil)
	for i, step := range []struct {
		change snapshot.Change
		kept   bool
		has    string
	}{
		{snapshot.Change{Before: retry("1"), After: retry("2")}, true, "web.internal"},
		{snapshot.Change{After: object(`{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.2","inbound":[{"port":80,"tags":{"kuma.io/service":"a","app":"a"}}]}}`)}, true, "web.internal"},
		{snapshot.Change{Before: service("web", "web.internal", "241.0.0.1"), After: service("web", "web.example", "241.0.0.1")}, false, "web.example"},
		{snapshot.Change{Before: service("web", "web.example", "241.0.0.1"), After: service("web", "web.example", "241.0.0.2")}, false, "web.example"},
		{snapshot.Change{After: host}, false, "shop.example.org"},
		{snapshot.Change{Before: retry("2")}, true, "shop.example.org"},
		{snapshot.Change{Before: host}, false, "web.example"},
	} {
		changes := []snapshot.Change{step.change}
		m, _ = m.Update(m.Snapshot().With(uint64(i+2), changes), changes)
		as := m.CallsAs(client.Ref)
		now, clean := m.Hostnames("default", as, names), m.Hostnames("default", as, nil)
		if diff := cmp.Diff(clean, now, cmpopts.IgnoreUnexported(reachability.Hostnames{})); diff != "" {
			t.Fatalf("step %d: made (-) and kept (+) differ:\n%s", i, diff)
		}
		if (now == names) != step.kept {
			t.Errorf("step %d: the list is the same: %v", i, now == names)
		}
		if !slices.ContainsFunc(now.List, func(h reachability.Hostname) bool { return h.Name == step.has }) {
			t.Errorf("step %d: there is no %s in %v", i, step.has, now.List)
		}
		names = now
	}
}

// TestWhoCannotCallAServiceIsToldThatItsNameIsAHost: a name of a service is that for all, also
// for those whose limits keep them from it, and they hear when it becomes that of a host.
func TestWhoCannotCallAServiceIsToldThatItsNameIsAHost(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	service := worlds.Decode(t, c.catalog, `{"type":"MeshService","mesh":"default","name":"web","spec":{"selector":{"dataplaneTags":{"app":"a"}},"ports":[{"port":80,"appProtocol":"http"}]},
		"status":{"addresses":[{"hostname":"One.example"}],"vips":[{"ip":"241.0.0.1"}]}}`)
	host := worlds.Decode(t, c.catalog, `{"apiVersion":"projectcontour.io/v1","kind":"HTTPProxy","metadata":{"name":"shop","namespace":"shop"},
		"spec":{"virtualhost":{"fqdn":"one.example"},"routes":[{"services":[{"name":"other","port":80}]}]}}`)
	other := worlds.Decode(t, c.catalog, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"other","namespace":"shop"},"spec":{"clusterIP":"10.96.0.1","ports":[{"port":80}]}}`)
	client := worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"client","networking":{"address":"127.0.0.1","transparentProxying":{"redirectPortOutbound":15001,
		"reachableBackends":{"refs":[{"kind":"MeshService","name":"other"}]}}}}`)
	anybody := worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"anybody","networking":{"address":"127.0.0.1","transparentProxying":{"redirectPortOutbound":15001}}}`)
	before, _ := resolve.Compile(snapshot.New(1, service, host, other, client, anybody), c.dialects, c.kinds)
	changes := []snapshot.Change{{Before: service}}
	after, affected := before.Update(before.Snapshot().With(2, changes), changes)
	for _, dp := range []*api.Object{client, anybody} {
		was, is := before.Hostnames("default", before.CallsAs(dp.Ref), nil), after.Hostnames("default", after.CallsAs(dp.Ref), nil)
		led := func(to *reachability.Hostnames) bool {
			return slices.ContainsFunc(to.List, func(h reachability.Hostname) bool { return h.Name == "one.example" && h.Last })
		}
		if led(was) || !led(is) {
			t.Errorf("%s: the names are %v, and without the service %v", dp.Ref, was.List, is.List)
		}
		if !slices.Contains(affected.Dataplanes, dp.Ref) {
			t.Errorf("%s does not hear of it", dp.Ref)
		}
	}
}

// TestAServiceWithoutAnAddressKeepsItsName: a route of another namespace does not take the name
// that a generator gives a headless Service (spec/threats.md T10).
func TestAServiceWithoutAnAddressKeepsItsName(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	objects := []*api.Object{
		worlds.Decode(t, c.catalog, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"db","namespace":"bare","labels":{"team":"x"}},"spec":{"clusterIP":"None","ports":[{"port":80}]}}`),
		worlds.Decode(t, c.catalog, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"bare","labels":{"kuma.io/sidecar-injection":"enabled"}}}`),
		worlds.Decode(t, c.catalog, `{"type":"HostnameGenerator","name":"all","spec":{"selector":{"meshService":{"matchLabels":{"team":"x"}}},"template":"one.example"}}`),
		worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"client","networking":{"address":"127.0.0.1","transparentProxying":{"redirectPortOutbound":15001}}}`),
	}
	host := worlds.Decode(t, c.catalog, `{"apiVersion":"projectcontour.io/v1","kind":"HTTPProxy","metadata":{"name":"shop","namespace":"shop"},
		"spec":{"virtualhost":{"fqdn":"one.example"},"routes":[{"services":[{"name":"other","port":80}]}]}}`)
	client := objects[3].Ref
	for without, told := range []int{0, 1} { // first with the Service, then without
		m, _ := resolve.Compile(snapshot.New(1, append(objects[without:], host)...), c.dialects, c.kinds)
		if list := m.Hostnames("default", m.CallsAs(client), nil).List; len(list) != told {
			t.Errorf("%d names are told, not %d: %v", len(list), told, list)
		}
	}
}

// checkNames holds that names that are kept from the model before are those that would be
// made.
func checkNames(t worlds.Fataler, before, after *resolve.Model) {
	t.Helper()
	for r := range after.Dataplanes("") {
		as := after.CallsAs(r.Ref)
		if as == "" || before.CallsAs(r.Ref) != as {
			continue
		}
		now, clean := after.Hostnames(r.Ref.Mesh, as, before.Hostnames(r.Ref.Mesh, as, nil)), after.Hostnames(r.Ref.Mesh, as, nil)
		if diff := cmp.Diff(clean, now, cmpopts.IgnoreUnexported(reachability.Hostnames{})); diff != "" {
			t.Fatalf("%s: names made (-) and kept (+) differ:\n%s", r.Ref, diff)
		}
	}
}
