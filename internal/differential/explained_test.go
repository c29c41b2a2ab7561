package differential

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/sim"
)

// TestExplainIsWhatEnvoyRuns: every field of the policies of random worlds, on both
// sides: what explain says is what the Envoys' config_dump shows, and where explain
// says nothing, or that it is idle, Envoy has its built-in value.
func TestExplainIsWhatEnvoyRuns(t *testing.T) {
	t.Parallel()
	worlds, _ := drawPairs(t, 21, 0, 200)
	f := newFleet(t, newRoom(t), worlds)
	callers, called := dumpOf(t, f.envoys[0]), dumpOf(t, f.envoys[1])
	seen := map[string]int{}
	for i, w := range f.worlds {
		for r := range w.Model.Dataplanes("default") {
			e, err := inspect.Explain(w.Model.Reader(nil), r.Ref, "")
			if err != nil {
				t.Fatal(err)
			}
			d := called
			if r.Ref == client {
				d = callers
			}
			for _, o := range e.Outbounds {
				p := d.at(t, fmt.Sprintf("outbound:%s:%d", o.Address, o.Port), fmt.Sprintf("%d/%s", i, o.ID))
				compareFields(t, p, o.Policies, seen, false)
				for _, rt := range o.Routes {
					if at, ok := p.on(rt.Name); ok {
						compareFields(t, at, rt.Policies, seen, true)
					} else {
						t.Errorf("world %d: Envoy has no route %s", i, rt.Name)
					}
				}
			}
			for _, in := range e.Inbounds {
				name := fmt.Sprintf("inbound:%s:%d", in.Address, in.Port)
				p := d.at(t, name, name)
				compareFields(t, p, in.Policies, seen, false)
				if p.manager != nil {
					at, _ := p.on(p.host.Routes[0].Name)
					compareFields(t, at, in.Policies, seen, true)
				}
			}
		}
	}
	known := map[string]bool{
		"MeshRetry tcp.maxConnectAttempt":   true,                                           // no caller of these worlds calls by TCP
		"MeshRateLimit local.http.disabled": true, "MeshRateLimit local.tcp.disabled": true, // applies
	}
	for _, x := range fields {
		known[x.kind+" "+x.name] = true
	}
	for _, k := range world.Kinds() {
		for _, leaf := range k.Schema.Leaves {
			if !known[k.Name+" "+leaf.Path] {
				t.Errorf("%s %s is not compared", k.Name, leaf.Path)
			}
		}
	}
	for _, x := range fields {
		if n := seen[x.kind+" "+x.name]; n < 4 {
			t.Errorf("%s %s was set %d times, want 4", x.kind, x.name, n)
		}
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
		want := x.without
		if v := views[x.kind]; v.Why != nil && !slices.Contains(v.Idle, x.name) {
			if said := v.Why[x.name]; len(said) > 0 && applies(v, x) {
				value := said[len(said)-1].Value
				if want = text(t, value); x.as != nil {
					want = x.as(v, value)
				}
				seen[x.kind+" "+x.name]++
			}
		}
		if got := x.there(p); got != want {
			t.Errorf("%s %s of %s: explain says %s, Envoy has %s", x.kind, x.name, p.listener.Name, want, got)
		}
	}
}

// applies reports whether a field can show in Envoy: a policy without retries, and
// a limit that is switched off, leave no trace.
func applies(v sim.Policy, x field) bool {
	switch x.kind {
	case "MeshRetry":
		block, _, _ := strings.Cut(x.name, ".")
		return plain(last(v, block+".numRetries")) != "0"
	case "MeshRateLimit":
		if strings.HasPrefix(x.name, "local.http.") {
			return last(v, "local.http.requestRate") != nil && plain(last(v, "local.http.disabled")) != "true"
		}
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
