package access_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/permission"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/store"
)

// documentsOf draws a route with rules, and permissions on them, on the mesh and on the workload.
func documentsOf(t *rapid.T, which string) (out []string) {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, which+" "+what) }
	list := func(what string) string {
		entry := func(who, http string) string {
			return fmt.Sprintf(`{"spiffeID":{"type":"Exact","value":"spiffe://default/%s"}%s}`, who, http)
		}
		http := pick(what+" http", "", "", `,"http":{"methods":["GET"]}`, `,"http":{"path":{"type":"PathPrefix","value":"/admin/a"}}`, `,"http":{"headers":[{"name":"x-key","value":"1"}]}`)
		return `{"` + pick(what+" list", "allow", "allow", "deny") + `":[` + entry(pick(what+" who", "fe", "ops", "web"), http) + `],"allowWithShadowDeny":[` + entry("ops", "") + `]}`
	}
	rules, n := "", rapid.IntRange(1, 4).Draw(t, which+" rules")
	for i := range n {
		if i > 0 {
			rules += ","
		}
		match := pick(fmt.Sprint("match ", i), `"path":{"type":"PathPrefix","value":"/admin"}`, `"path":{"type":"Exact","value":"/admin/x"}`, `"path":{"type":"PathPrefix","value":"/admin"},"method":"POST"`,
			`"path":{"type":"PathPrefix","value":"/"},"headers":[{"name":"x-mode","value":"s"}]`, `"path":{"type":"PathPrefix","value":"/other"}`)
		rules += `{"matches":[{` + match + `}],"default":{}}`
	}
	out = append(out, webRoute(rules))
	for i := range rapid.IntRange(0, 3).Draw(t, which+" permissions") {
		what := fmt.Sprint("permission ", i)
		target := pick(what+" target", atMesh, `{"kind":"Dataplane","name":"web-1"}`, `{"kind":"MeshHTTPRoute","name":"web"}`, atRule("0"), atRule("1"))
		out = append(out, permissionOf(fmt.Sprint("p", i), target, list(what)))
	}
	return out
}

// requests are all that differ in what the drawn worlds ask.
func requests() (out []permission.SampleRequest) {
	for _, path := range []string{"/", "/admin", "/admin/x", "/admin/a", "/admin/a/b", "/admin/y", "/other", "/other/x", "/zzz"} {
		for _, method := range []string{"GET", "POST", "PUT"} {
			for _, h := range []wire.Headers{nil, {"x-mode": "s"}, {"x-key": "1"}, {"x-mode": "s", "x-key": "1"}} {
				out = append(out, permission.SampleRequest{Method: method, Path: path, Headers: h})
			}
		}
	}
	return out
}

// TestPlansTellOfPairsWhoseAnswerChanges: a plan tells of a caller and a destination that something gets in
// that did not, or does not that did, exactly where the simulator says so of a request.
func TestPlansTellOfPairsWhoseAnswerChanges(t *testing.T) {
	t.Parallel()
	planes := []string{meshOf("STRICT"), workload("fe-1", "fe", ""), workload("ops-1", "ops", ""), workload("web-1", "web", "")}
	all := requests()
	rapid.Check(t, func(r *rapid.T) {
		before := documentsOf(r, "before")
		after := documentsOf(r, "after")
		m, _ := world.Compile(snapshot.New(1, objectsOf(t, append(slices.Clone(planes), before...)...)...))
		var writes []store.Write
		coming := map[api.Ref]bool{}
		for _, o := range objectsOf(t, after...) {
			writes, coming[o.Ref] = append(writes, store.Write{Put: o}), true
		}
		for _, o := range objectsOf(t, before...) {
			if !coming[o.Ref] {
				writes = append(writes, store.Write{Delete: &o.Ref})
			}
		}
		step, results := step.Next(m, writes, time.Unix(0, 0))
		step.Renderer = world.Settings{}.Renderer()
		told := map[string]string{}
		for _, a := range plan.Of(step, results).Permissions {
			pair := a.Caller.Identity + " " + a.Destination.Service
			if a.Change == access.Widens || a.Change == access.Both {
				told[pair+" more"] = "told"
			}
			if a.Change == access.Narrows || a.Change == access.Both {
				told[pair+" fewer"] = "told"
			}
			if a.Change == access.MayWiden {
				r.Errorf("%s may widen, and no expression is there", pair)
			}
		}
		for _, name := range []string{"fe-1", "ops-1", "web-1"} {
			ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
			was, _ := step.Before.Dataplane(ref)
			is, _ := step.After.Dataplane(ref)
			a, b := inboundAt(was), inboundAt(is)
			for _, who := range []string{"spiffe://default/fe", "spiffe://default/ops", "spiffe://default/web"} {
				for i := range all {
					x, y := letsIn(a, who, &all[i]), letsIn(b, who, &all[i])
					pair := who + " " + a.Tags[api.TagService]
					if !x && y && told[pair+" more"] == "" {
						r.Errorf("%s gets in by %s, and is not told", pair, all[i].String())
					}
					if x && !y && told[pair+" fewer"] == "" {
						r.Errorf("%s does not get in by %s any more, and is not told", pair, all[i].String())
					}
					if !x && y {
						told[pair+" more"] = "so"
					}
					if x && !y {
						told[pair+" fewer"] = "so"
					}
				}
			}
		}
		for pair, how := range told {
			if how == "told" {
				r.Errorf("%s is told, and no request says so", pair)
			}
		}
	})
}

func inboundAt(r *effective.Resolved) *effective.Inbound { return r.Inbounds[0].AsDocumented() }
