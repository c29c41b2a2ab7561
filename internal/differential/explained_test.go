package differential

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/tls"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/sim"
)

// TestExplainIsWhatEnvoyRuns: every field of the policies of WEFT_DIFF_WORLDS random worlds
// (200 where it is not set), on both sides: what explain says is what the Envoys' config_dump
// shows, and where explain says nothing, or that it is idle, Envoy has its built-in value.
func TestExplainIsWhatEnvoyRuns(t *testing.T) {
	t.Parallel()
	const atOnce = 200
	seen := [2]map[string]int{{}, {}} // of the caller's side, and of the other
	onward := 0                       // backends with policies of their own
	worlds := int(number(t, "WEFT_DIFF_WORLDS", atOnce))
	for from := 0; from < worlds; from += atOnce {
		onward += compareExplained(t, from, min(atOnce, worlds-from), &seen)
	}
	if onward < 100 {
		t.Errorf("%d backends have policies of their own, want 100", onward)
	}
	everyLeafCompared(t)
	everyFieldSaid(t, &seen)
}

// compareExplained compares all of n worlds, and counts the backends that have policies of their own.
func compareExplained(t *testing.T, from, n int, seen *[2]map[string]int) (onward int) {
	t.Helper()
	worlds, _ := drawPairs(t, byDocuments, 21, from, n)
	for i := range worlds {
		d := newDraw(22, uint64(from+i))
		worlds[i].Documents = append(d.withDatabase(worlds[i].Documents), newDraw(23, uint64(from+i)).onward()...)
		worlds[i].Documents = append(worlds[i].Documents, newDraw(24, uint64(from+i)).telemetry()...)
		worlds[i].Documents = append(worlds[i].Documents, newDraw(25, uint64(from+i)).endpoints()...)
		worlds[i].Documents = append(worlds[i].Documents, newDraw(26, uint64(from+i)).faults()...)
	}
	f := newFleet(t, newRoom(t, workloadNames...), worlds)
	defer f.stop()
	dumps := [2]dump{dumpOf(t, f.envoys[0]), dumpOf(t, f.envoys[1])}
	for i, w := range f.worlds {
		for r := range w.Dataplanes("default") {
			e, err := explain.Of(w.Reader(nil), r.Ref, "")
			if err != nil {
				t.Fatal(err)
			}
			d := dumps[1]
			if r.Ref == client {
				d = dumps[0]
			}
			for _, o := range e.Outbounds {
				p := d.at(t, i, r.Ref.Name, fmt.Sprintf("outbound:%s:%d", o.Address, o.Port), o.ID)
				compareOutbound(t, p, &o, seen[0])
				for j := range o.Routes {
					onward += compareOnward(t, d, p, &o.Routes[j])
				}
			}
			for _, in := range e.Inbounds {
				name := fmt.Sprintf("inbound:%s:%d", in.Address, in.Port)
				compareInbound(t, d.at(t, i, r.Ref.Name, name, name), in.Policies, seen[1])
			}
		}
	}
	return onward
}

// everyLeafCompared wants each field of each kind in the table of those that are compared.
func everyLeafCompared(t *testing.T) {
	t.Helper()
	compared := map[string]bool{}
	for _, x := range fields {
		compared[x.kind+" "+x.name] = true
	}
	for _, k := range world.Kinds() {
		if k.OfDataplanes { // nothing of a listener or a route: TestMetricsListeners of package xds says what they come to
			continue
		}
		switch k.Name {
		case tls.Kind.Name, trafficpermission.Kind.Name: // these worlds have no identities: TestIdentitiesAgree compares both
			continue
		}
		for _, leaf := range k.Schema.Leaves {
			if strings.HasPrefix(leaf.Path, "localityAwareness.") { // these worlds have one zone, and one priority
				continue
			}
			if !compared[k.Name+" "+leaf.Path] {
				t.Errorf("%s %s is compared by no entry of fields; add one", k.Name, leaf.Path)
			}
		}
	}
}

// everyFieldSaid wants each field said some times by both sides, so that it was compared.
func everyFieldSaid(t *testing.T, seen *[2]map[string]int) {
	t.Helper()
	sum := 0
	for _, x := range fields {
		name := x.kind + " " + x.name
		sum += seen[0][name] + seen[1][name]
		if seen[0][name] < 4 || seen[1][name] < 4 && !callersOnly(x.kind) {
			t.Errorf("%s was set %d times by callers and %d times by who is called, want 4", name, seen[0][name], seen[1][name])
		}
	}
	t.Logf("%d fields of which explain says something", sum)
}

// callersOnly reports whether a kind has no inbound side.
func callersOnly(kind string) bool {
	return slices.ContainsFunc(world.Kinds(), func(k *policies.Kind) bool { return k.Name == kind && !k.From && !k.Rules && !k.Single })
}

// compareOutbound compares all that is said of one, and of its routes. That of
// connections says the same once more.
func compareOutbound(t *testing.T, p envoyPlace, o *explain.Outbound, seen map[string]int) {
	t.Helper()
	compareFields(t, p, o.Policies, seen, false)
	p.nothingElse(t)
	for _, rt := range o.Routes {
		at, ok := p.on(rt.Name)
		switch {
		case p.bytes != nil:
			compareFields(t, p, rt.Policies, seen, false)
		case ok:
			compareFields(t, at, rt.Policies, seen, true)
			at.nothingElse(t)
		default:
			t.Errorf("%s: Envoy has no route %s", p.listener.Name, rt.Name)
		}
	}
}

// compareOnward compares what is said of the connections to the backends of a rule with their
// clusters, and counts those that have policies of their own.
func compareOnward(t *testing.T, d dump, p envoyPlace, rt *explain.Route) (own int) {
	t.Helper()
	at, ok := p.on(rt.Name)
	names := clustersOf(at.route)
	backends := slices.DeleteFunc(slices.Clone(rt.Backends), func(b sim.Backend) bool { return b.Reason != "" && b.Status != http.StatusServiceUnavailable })
	if !ok || len(names) != len(backends) { // parts of one backend may be one in Envoy
		return 0
	}
	for i, b := range backends {
		p.cluster = d.clusters[names[i]]
		if p.cluster == nil {
			t.Errorf("Envoy has no cluster %s", names[i])
			continue
		}
		p.options = nil
		for _, a := range p.cluster.GetTypedExtensionProtocolOptions() {
			p.options = unpack(t, a, &upstreamhttpv3.HttpProtocolOptions{})
		}
		views := rt.Policies
		if b.Policies != nil {
			views = b.Policies
			own++
		}
		for _, x := range fields {
			if leaf, ok := leafOf(x); !ok || leaf.Scope != policies.OnCluster {
				continue
			}
			want, _ := x.want(t, views[x.kind])
			if got := x.there(p); got != want && (got != unset || x.name != "idleTimeout" || want != "1h0m0s") { // unset is an hour to Envoy
				t.Errorf("%s %s of the connections to %s: explain says %s, Envoy has %s", x.kind, x.name, names[i], want, got)
			}
		}
	}
	return own
}

// leafOf is a field in the schema of its kind.
func leafOf(x field) (policies.SchemaLeaf, bool) {
	for _, k := range world.Kinds() {
		for _, leaf := range k.Schema.Leaves {
			if k.Name == x.kind && leaf.Path == x.name {
				return leaf, true
			}
		}
	}
	return policies.SchemaLeaf{}, false
}

// clustersOf are the clusters that a route sends to, in their order.
func clustersOf(r *routev3.Route) (out []string) {
	if name := r.GetRoute().GetCluster(); name != "" {
		return []string{name}
	}
	for _, c := range r.GetRoute().GetWeightedClusters().GetClusters() {
		out = append(out, c.Name)
	}
	return out
}

// onward are policies on the connections to those that rules of web lead to.
func (d draw) onward() (out []m) {
	for i, name := range some(d, 7, "web", "v1", "v2") {
		conf := m{"connectionTimeout": one(d, "1s", "2s", "3s"), "http": m{"maxStreamDuration": one(d, "0s", "20s", "30s")}}
		if d.chance(2) {
			conf["idleTimeout"] = one(d, "0s", "7m")
		}
		out = append(out, m{"type": "MeshTimeout", "mesh": "default", "name": fmt.Sprintf("onward%d", i), "spec": m{
			"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": m{"kind": "MeshService", "name": name}, one(d, "default", "override"): conf}},
		}})
	}
	return out
}

// compareInbound compares all that is said of one.
func compareInbound(t *testing.T, p envoyPlace, views map[string]sim.Policy, seen map[string]int) {
	t.Helper()
	compareFields(t, p, views, seen, false)
	p.nothingElse(t)
	if p.manager != nil {
		at, _ := p.on(p.host.Routes[0].Name)
		compareFields(t, at, views, seen, true)
		at.nothingElse(t)
	}
}

// compareFields compares those fields of views that stand on a route, or those that
// do not.
func compareFields(t *testing.T, p envoyPlace, views map[string]sim.Policy, seen map[string]int, ofRoute bool) {
	t.Helper()
	for _, x := range fields {
		if x.ofRoute != ofRoute || p.cluster == nil && !ofRoute {
			continue
		}
		want, said := x.want(t, views[x.kind])
		if said {
			seen[x.kind+" "+x.name]++
		}
		if got := x.there(p); got != want {
			t.Errorf("%s %s of %s: explain says %s, Envoy has %s", x.kind, x.name, p.listener.Name, want, got)
		}
	}
}

// want is what stands in Envoy by what explain says of a policy. Said reports whether
// it says something of this field.
func (x field) want(t *testing.T, v sim.Policy) (value string, said bool) {
	t.Helper()
	here := last(v, x.name)
	said = here != nil && !slices.Contains(v.Idle, x.name)
	switch {
	case x.asWhole != nil:
		return x.asWhole(v), said
	case !said || !applies(v, x):
		return x.without, false
	case x.as != nil:
		return x.as(v, here), true
	}
	return text(t, here), true
}

// applies reports whether a field can show in Envoy: a policy without retries, and
// a limit that is switched off, leave no trace.
func applies(v sim.Policy, x field) bool {
	switch x.kind {
	case "MeshRetry":
		block, _, _ := strings.Cut(x.name, ".")
		return block == "tcp" || plain(last(v, block+".numRetries")) != "0"
	case "MeshRateLimit":
		if strings.HasPrefix(x.name, "local.http.") {
			return limitless(v, "local.http", "requestRate") == "false"
		}
		return limitless(v, "local.tcp", "connectionRate") == "false"
	}
	return true
}

// last is the value that holds of a field; nil where nobody set it.
func last(v sim.Policy, name string) any {
	if said := v.Why[name]; len(said) > 0 {
		return said[len(said)-1].Value
	}
	return nil
}

// plain is a value in JSON.
func plain(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// text is a value of explain as the fields below read it from Envoy.
func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var s string
	if json.Unmarshal(b, &s) == nil {
		if d, err := time.ParseDuration(s); err == nil {
			return d.String()
		}
		return s
	}
	return string(b)
}
