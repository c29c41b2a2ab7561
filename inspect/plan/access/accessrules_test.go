package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/store"
)

// One service: fe and ops call web, of which each rule is for ops alone.
const (
	webRules = `{"matches":[{"path":{"type":"PathPrefix","value":"/admin"}}],"default":{}},
		{"matches":[{"path":{"type":"Exact","value":"/exact"}}],"default":{}},
		{"matches":[{"path":{"type":"RegularExpression","value":"/re/[0-9]+"}}],"default":{}},
		{"matches":[{"path":{"type":"PathPrefix","value":"/hdr"},"headers":[{"type":"Exact","name":"x-mode","value":"secret"}]}],"default":{}}`
	opsOnly  = `{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}]}`
	feAndOps = `{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}},{"spiffeID":{"type":"Exact","value":"spiffe://default/fe"}}]}`
)

func webRoute(rules string) string {
	return `{"type":"MeshHTTPRoute","mesh":"default","name":"web","spec":{"targetRef":{"kind":"Mesh"},"to":[{"targetRef":{"kind":"MeshService","name":"web"},"rules":[` + rules + `]}]}}`
}

func atRule(section string) string {
	return fmt.Sprintf(`{"kind":"MeshHTTPRoute","name":"web","sectionName":%q}`, section)
}

func workload(name, service, extra string) string {
	address := map[string]string{"fe-1": "10.0.0.1", "ops-1": "10.0.0.2", "web-1": "10.0.0.3"}[name]
	return fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":%q,"networking":{"address":%q,"inbound":[{"port":80,"tags":{"kuma.io/service":%q,"kuma.io/protocol":"http"}}%s],"outbound":[{"port":20001,"tags":{"kuma.io/service":"web"}}]}}`, name, address, service, extra)
}

func meshOf(mode string) string {
	return `{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin","mode":"` + mode + `"}]}}`
}

// ruled is that world, with sidecars that have certificates where online says so.
func ruled(t *testing.T, online bool, more ...string) []*api.Object {
	t.Helper()
	documents := append([]string{meshOf("STRICT"), workload("fe-1", "fe", ""), workload("ops-1", "ops", ""), workload("web-1", "web", ""),
		webRoute(webRules), permissionOf("web-all", atMesh, feAndOps),
		permissionOf("admin", atRule("0"), opsOnly), permissionOf("exact", atRule("1"), opsOnly), permissionOf("re", atRule("2"), opsOnly), permissionOf("hdr", atRule("3"), opsOnly)}, more...)
	var out []*api.Object
	for _, name := range []string{"fe-1", "ops-1", "web-1"} {
		if online {
			out = append(out, &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: name}), Spec: &api.DataplaneInsight{Identity: true, TLS: true}})
		}
	}
	return append(out, objectsOf(t, documents...)...)
}

// told is what a plan says of who may call, and what it warns of.
func told(t *testing.T, before []*api.Object, gone *api.Ref, after ...string) (_ []string, codes []string) {
	t.Helper()
	m, _ := world.Compile(snapshot.New(1, before...))
	var writes []store.Write
	for _, o := range objectsOf(t, after...) {
		writes = append(writes, store.Write{Put: o})
	}
	if gone != nil {
		writes = append(writes, store.Write{Delete: gone})
	}
	step, results := step.Next(m, writes, time.Unix(0, 0))
	step.Renderer = world.Settings{}.Renderer()
	p := plan.Of(step, results)
	var out []string
	for _, a := range p.Permissions {
		rule := "-"
		if a.Rule != nil {
			rule = a.Rule.Match
		}
		out = append(out, fmt.Sprintf("%s %s %s:%d %s", a.Change, strings.TrimPrefix(a.Caller.Identity, "spiffe://default/"), a.Destination.Service, a.Destination.Port, rule))
	}
	for _, v := range p.Warnings {
		codes = append(codes, v.Code)
	}
	slices.Sort(out)
	return out, codes
}

// TestPlansTellWhatRulesDecide: every edit that lets more or fewer in by a rule of a route is told,
// with the rule, whether sidecars run or documents are all there is; and nothing else is.
func TestPlansTellWhatRulesDecide(t *testing.T) {
	t.Parallel()
	admin := api.Ref{Kind: "MeshTrafficPermission", Mesh: "default", Name: "admin"}
	route := api.Ref{Kind: "MeshHTTPRoute", Mesh: "default", Name: "web"}
	inserted := `{"matches":[{"path":{"type":"PathPrefix","value":"/new"}}],"default":{}},`
	moved := strings.Replace(webRules, "/admin", "/boss", 1)
	shadow := strings.Replace(permissionOf("admin", atRule("0"), opsOnly), `"name":"admin"`, `"name":"admin","labels":{"kuma.io/effect":"shadow"}`, 1)
	for name, c := range map[string]struct {
		gone  *api.Ref
		after []string
		want  []string
		warns string
	}{
		"nothing":                {after: []string{permissionOf("admin", atRule("0"), opsOnly)}},
		"a caller on the list":   {after: []string{permissionOf("admin", atRule("0"), feAndOps)}, want: []string{"widens fe web:80 PathPrefix /admin"}},
		"a caller off the list":  {after: []string{permissionOf("admin", atRule("0"), webOnly)}, want: []string{"narrows ops web:80 PathPrefix /admin", "widens web web:80 PathPrefix /admin"}},
		"a deny":                 {after: []string{permissionOf("admin", atRule("0"), `{"deny":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}],"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}]}`)}, want: []string{"narrows ops web:80 PathPrefix /admin"}},
		"a shadow":               {after: []string{permissionOf("admin", atRule("0"), `{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}],"allowWithShadowDeny":[{"spiffeID":{"type":"Exact","value":"spiffe://default/fe"}}]}`)}, want: []string{"widens fe web:80 PathPrefix /admin"}},
		"a document as a shadow": {after: []string{shadow}, want: []string{"widens fe web:80 PathPrefix /admin"}},
		"no permission any more": {gone: &admin, want: []string{"widens fe web:80 PathPrefix /admin"}},
		"another target":         {after: []string{permissionOf("admin", atRule("3"), opsOnly)}, want: []string{"widens fe web:80 PathPrefix /admin"}},
		"another path":           {after: []string{webRoute(moved)}, want: []string{"narrows fe web:80 PathPrefix /boss", "widens fe web:80 PathPrefix /admin"}},
		"a rule before":          {after: []string{webRoute(inserted + webRules)}, warns: "SectionMoved", want: []string{"narrows fe web:80 PathPrefix /new", "widens fe web:80 PathPrefix /hdr x-mode=secret"}},
		"no route any more":      {gone: &route, want: []string{"widens fe web:80 Exact /exact", "widens fe web:80 PathPrefix /admin", "widens fe web:80 PathPrefix /hdr x-mode=secret", "widens fe web:80 RegularExpression /re/[0-9]+"}},
		"another identity": {after: []string{workload("fe-1", "ops", "")}, want: []string{
			"widens ops web:80 Exact /exact", "widens ops web:80 PathPrefix /admin", "widens ops web:80 PathPrefix /hdr x-mode=secret", "widens ops web:80 RegularExpression /re/[0-9]+"}},
		"a port":     {after: []string{workload("ops-1", "ops", `,{"port":81,"tags":{"kuma.io/service":"ops","kuma.io/protocol":"http"}}`)}, want: []string{"widens fe ops:81 -", "widens ops ops:81 -"}},
		"permissive": {after: []string{meshOf("PERMISSIVE")}, want: []string{"widens  fe:80 -", "widens  ops:80 -", "widens  web:80 -", "widens  web:80 Exact /exact", "widens  web:80 PathPrefix /admin", "widens  web:80 PathPrefix /hdr x-mode=secret", "widens  web:80 RegularExpression /re/[0-9]+"}},
		"an override of the mesh": {after: []string{`{"type":"MeshTrafficPermission","mesh":"default","name":"o","spec":{"targetRef":{"kind":"Mesh"},"rules":[{"override":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/fe"}}]}}]}}`},
			want: []string{"widens fe web:80 Exact /exact", "widens fe web:80 PathPrefix /admin", "widens fe web:80 PathPrefix /hdr x-mode=secret", "widens fe web:80 RegularExpression /re/[0-9]+"}},
	} {
		for _, online := range []bool{false, true} {
			got, codes := told(t, ruled(t, online), c.gone, c.after...)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, online %v: told\n%s\nwant\n%s", name, online, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if c.warns != "" && !slices.Contains(codes, c.warns) {
				t.Errorf("%s, online %v: warns of %v", name, online, codes)
			}
			if c.warns == "" && slices.Contains(codes, "SectionMoved") {
				t.Errorf("%s, online %v: warns of a place that names what it named", name, online)
			}
		}
	}
}
