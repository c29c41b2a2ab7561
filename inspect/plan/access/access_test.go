package access_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/permission"
	"github.com/weftmesh/weft/store"
)

// guarded are the dataplanes web, ops and backend (at 80 http, at 90 tcp) of a mesh with an
// authority, and documents.
func guarded(t *testing.T, documents ...string) []*api.Object {
	t.Helper()
	documents = append(documents, `{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin","mode":"STRICT"}]}}`)
	var objects []*api.Object
	for i, name := range []string{"web", "ops", "backend"} {
		inbound := fmt.Sprintf(`{"port":80,"tags":{"kuma.io/service":%q,"kuma.io/protocol":"http"}}`, name)
		if name == "backend" {
			inbound += `,{"port":90,"tags":{"kuma.io/service":"database","kuma.io/protocol":"tcp"}}`
		}
		documents = append(documents, fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":%q,"networking":{"address":"10.0.0.%d","inbound":[%s]}}`, name, i+1, inbound))
		objects = append(objects, &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: name}), Spec: &api.DataplaneInsight{Identity: true, TLS: true}})
	}
	return append(objects, objectsOf(t, documents...)...)
}

func objectsOf(t *testing.T, documents ...string) (out []*api.Object) {
	t.Helper()
	for _, text := range documents {
		o, err := decode.Objects(world.Catalog(), "f", []byte(text))
		if slices.ContainsFunc(api.Violations(err), func(v *api.Violation) bool { return v.Severity == api.Error }) {
			t.Fatal(err)
		}
		out = append(out, o...)
	}
	return out
}

// permitting is the plan of documents over a mesh of others.
func permitting(t *testing.T, before []string, after ...string) (step.Comparison, plan.Plan) {
	t.Helper()
	m, _ := world.Compile(snapshot.New(1, guarded(t, before...)...))
	var writes []store.Write
	for _, o := range objectsOf(t, after...) {
		writes = append(writes, store.Write{Put: o})
	}
	step, results := step.Next(m, writes, time.Unix(0, 0))
	step.Renderer = world.Settings{}.Renderer()
	return step, plan.Of(step, results)
}

func permissionOf(name, target, rule string) string {
	return fmt.Sprintf(`{"type":"MeshTrafficPermission","mesh":"default","name":%q,"spec":{"targetRef":%s,"rules":[{"default":%s}]}}`, name, target, rule)
}

const (
	atMesh    = `{"kind":"Mesh"}`
	atBackend = `{"kind":"Dataplane","name":"backend"}`
	webOnly   = `{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/web"}}]}`
	everybody = `{"allow":[{"spiffeID":{"type":"Prefix","value":"spiffe://default"}}]}`
)

// TestPlansMarkWhatWidens: spec/identity.md 4.7: each pair of a caller and a destination whose verdict
// changes is told, both ways, and those that let in more are marked and come first.
func TestPlansMarkWhatWidens(t *testing.T) {
	t.Parallel()
	get := `{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/web"},"http":{"methods":["GET"],"path":{"type":"PathPrefix","value":"/v1"}}}]}`
	post := strings.Replace(get, `"GET"`, `"POST"`, 1)
	regex := strings.Replace(strings.Replace(get, "PathPrefix", "RegularExpression", 1), "/v1", "/v1/.*", 1)
	for name, c := range map[string]struct {
		before []string
		after  []string
		want   []string // change, caller, destination, before, after
	}{
		"one more caller": {[]string{permissionOf("p", atBackend, webOnly)}, []string{permissionOf("p", atBackend, everybody)},
			[]string{"widens ops backend deny allow", "widens backend backend deny allow", "widens ops database deny allow", "widens backend database deny allow"}},
		"one caller alone": {[]string{permissionOf("p", atBackend, everybody)}, []string{permissionOf("p", atBackend, webOnly)},
			[]string{"narrows ops backend allow deny", "narrows backend backend allow deny", "narrows ops database allow deny", "narrows backend database allow deny"}},
		"another method":       {[]string{permissionOf("p", atBackend, get)}, []string{permissionOf("p", atBackend, post)}, []string{"both web backend some some"}},
		"all requests":         {[]string{permissionOf("p", atBackend, get)}, []string{permissionOf("p", atBackend, webOnly)}, []string{"widens web backend some allow", "widens web database deny allow"}},
		"an expression":        {[]string{permissionOf("p", atBackend, get)}, []string{permissionOf("p", atBackend, regex)}, []string{"may widen web backend some some"}},
		"what allows the same": {[]string{permissionOf("p", atBackend, webOnly)}, []string{permissionOf("q", atBackend, webOnly)}, nil},
		"another kind":         {nil, []string{`{"type":"MeshTimeout","mesh":"default","name":"t","spec":{"targetRef":{"kind":"Mesh"},"from":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"requestTimeout":"7s"}}}]}}`}, nil},
		"a mode that takes plain text": {[]string{permissionOf("p", atMesh, everybody)}, []string{`{"type":"MeshTLS","mesh":"default","name":"m","spec":{"targetRef":` + atBackend + `,"rules":[{"default":{"mode":"Permissive"}}]}}`},
			[]string{"widens - backend deny open", "widens - database deny open"}},
	} {
		_, p := permitting(t, c.before, c.after...)
		var got []string
		for _, a := range p.Permissions {
			caller := strings.TrimPrefix(a.Caller.Identity, "spiffe://default/")
			if caller == "" {
				caller = "-"
			}
			got = append(got, fmt.Sprintf("%s %s %s %s %s", a.Change, caller, a.Destination.Service, a.Before, a.After))
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestWideningIsMarkedInEveryForm: as text, in Markdown and in JSON.
func TestWideningIsMarkedInEveryForm(t *testing.T) {
	t.Parallel()
	_, p := permitting(t, []string{permissionOf("p", atBackend, webOnly)}, permissionOf("p", atBackend, `{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}]}`))
	var text, markdown strings.Builder
	if err := plan.Text(&text, p, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	if err := plan.Markdown(&markdown, p); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		text.String():     "\n\nwho may call: 4 verdicts changed, 2 of them let in more\n  ! WIDENS  spiffe://default/ops calls backend at port 80 http: deny → allow  MeshTrafficPermission/default/p spec.rules[0].default.allow[0]",
		markdown.String(): `| **! WIDENS** | spiffe://default/ops | backend at port 80 http | deny → allow |`,
		string(out):       `"change":"widens"`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("not marked: %s in\n%s", want, said)
		}
	}
	if !strings.Contains(text.String(), "\n  narrows  spiffe://default/web calls backend at port 80 http: allow → deny") {
		t.Errorf("not told: %s", text.String())
	}
}

// TestAPlannedShadowIsToldAsOne (case 30): a shadow that would refuse a caller changes no verdict of
// a plan; the plan that counts shadows says what would change, and marks the document as one.
func TestAPlannedShadowIsToldAsOne(t *testing.T) {
	t.Parallel()
	before := []string{permissionOf("all", atMesh, everybody)}
	shadow := strings.Replace(permissionOf("strict", atBackend, `{"deny":[{"spiffeID":{"type":"Exact","value":"spiffe://default/web"}}]}`), `"name":"strict",`, `"name":"strict","labels":{"kuma.io/effect":"shadow"},`, 1)
	if _, p := permitting(t, before, shadow); len(p.Permissions) > 0 {
		t.Errorf("a shadow changes %v", p.Permissions)
	}
	m, _ := world.Compile(snapshot.New(1, guarded(t, before...)...))
	preview := plan.Preview{Takes: func(*api.Object) bool { return true }}
	writes, err := preview.Of(func(*snapshot.Snapshot) ([]store.Write, error) {
		return []store.Write{{Put: objectsOf(t, shadow)[0]}}, nil
	})(m.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	step, results := step.Next(m, writes, time.Unix(0, 0))
	step.Renderer = world.Settings{}.Renderer()
	p := plan.Of(step, results)
	preview.Tell(&p)
	if len(p.Changes) != 1 || !p.Changes[0].Shadow {
		t.Errorf("the document is told as %+v", p.Changes)
	}
	var got []string
	for _, a := range p.Permissions {
		got = append(got, fmt.Sprintf("%s %s %s", a.Change, a.Caller.Identity, a.Destination.Service))
	}
	slices.Sort(got)
	if want := []string{"narrows spiffe://default/web backend", "narrows spiffe://default/web database"}; !slices.Equal(got, want) {
		t.Errorf("it would change %v, want %v", got, want)
	}
}

// TestPlannedVerdictsAreThoseOfTheSimulator: of every pair and every request that stands for the
// conditions, what a plan says of it is what sim says before and after.
func TestPlannedVerdictsAreThoseOfTheSimulator(t *testing.T) {
	t.Parallel()
	rules := []string{webOnly, everybody,
		`{"allow":[{"http":{"path":{"type":"PathPrefix","value":"/v1"}}}],"deny":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"},"http":{"methods":["POST"]}}]}`,
		`{"allow":[{"http":{"path":{"type":"Exact","value":"/v1"},"headers":[{"name":"x-key","value":"1"}]}}]}`,
		`{"deny":[{"http":{"path":{"type":"PathPrefix","value":"/admin"}}}],"allow":[{"spiffeID":{"type":"Prefix","value":"spiffe://default"}}]}`}
	for i, before := range rules {
		for j, after := range rules {
			step, p := permitting(t, []string{permissionOf("p", atBackend, before)}, permissionOf("p", atBackend, after))
			told := map[string]access.Access{}
			for _, a := range p.Permissions {
				told[a.Caller.Identity+" "+a.Destination.Service] = a
			}
			was, _ := step.Before.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "backend"})
			is, _ := step.After.Dataplane(was.Ref)
			for n := range was.Inbounds {
				a, b := was.Inbounds[n].Inbound, is.Inbounds[n].Inbound
				probes, _ := permission.Probes(append(permission.AsksOf(a), permission.AsksOf(b)...))
				for _, who := range []string{"spiffe://default/web", "spiffe://default/ops", "spiffe://default/backend"} {
					more, fewer := false, false
					for k := range probes {
						x, y := letsIn(a, who, &probes[k]), letsIn(b, who, &probes[k])
						more, fewer = more || !x && y, fewer || x && !y
					}
					got, ok := told[who+" "+b.Tags[api.TagService]]
					widens := ok && (got.Change == access.Widens || got.Change == access.Both)
					narrows := ok && (got.Change == access.Narrows || got.Change == access.Both)
					if a.Protocol == "http" && (widens != more || narrows != fewer) {
						t.Errorf("%d to %d: %s at %s: planned %+v, and the simulator lets in more %v, fewer %v", i, j, who, b.Name, got, more, fewer)
					}
				}
			}
		}
	}
}

// letsIn reports whether an inbound lets in a request of who.
func letsIn(in *effective.Inbound, who string, p *permission.SampleRequest) bool {
	a := permission.Arrive(in, p)
	return a.LetsIn([]string{who})
}
