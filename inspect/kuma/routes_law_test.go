package kuma_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// asked counts what the law looked at, lest it looks at nothing: rules by kind, those of which the
// policies are others than those of the first rule, and those that no default of a MeshHTTPRoute can say.
type asked struct {
	kinds             map[string]int
	differ, inWords   int
	serverNames, host int
	mirrors           int // those that a MeshHTTPRoute has words for
}

// TestEachRuleAnswersForItself: in every language, each rule that _routes lists has a name that no
// other has, and by it _policies tells of the policies of that rule; what the rule does is told too.
func TestEachRuleAnswersForItself(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/stories/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	texts := map[string]string{"rules of every language": everyLanguage}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".yaml") {
				text = append(text, string(f.Data))
			}
		}
		texts[filepath.Base(file)] = strings.Join(text, "\n---\n")
	}
	seen := asked{kinds: map[string]int{}}
	for name, text := range texts {
		objects, violations := world.Decode(name, []byte(text))
		if text == everyLanguage && len(violations) > 0 { // some stories tell of documents that are refused
			t.Fatal(violations[0])
		}
		m, _ := world.Compile(world.Snapshot(objects...))
		for r := range m.Dataplanes("") {
			for _, o := range r.Outbounds {
				seen.outbound(t, name, m.Reader(nil), r, o)
			}
		}
	}
	for _, kind := range []string{"MeshHTTPRoute", "MeshTCPRoute", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "HTTPProxy", "RouteGroup"} {
		if seen.kinds[kind] < 2 {
			t.Errorf("there are %d rules of a %s", seen.kinds[kind], kind)
		}
	}
	if seen.differ < 10 || seen.inWords < 10 || seen.serverNames == 0 || seen.host < 10 || seen.mirrors == 0 {
		t.Errorf("the worlds are too poor: %+v", seen)
	}
}

// outbound holds what the views say of one outbound against the model.
func (n *asked) outbound(t *testing.T, story string, m *resolve.Reader, r *effective.Resolved, o *effective.Outbound) {
	t.Helper()
	c, outbound := world.Catalog(), kuma.OutboundKRI(m, world.Catalog(), r.Ref.Mesh, o)
	if err := kuma.CheckKRI(c, outbound); err != nil {
		t.Errorf("%s: outbound %s: %v", story, o.Destination.ID, err)
	}
	list, err := kuma.Routes(m, c, r.Ref, outbound)
	if err != nil {
		t.Fatal(err)
	}
	var shown []kuma.RouteRule
	for _, k := range list.Routes {
		n.kinds[k.Kind] += len(k.Rules)
		shown = append(shown, k.Rules...)
	}
	if o.ToHost() {
		n.host += len(shown)
	}
	names, all, first := map[string]bool{}, rulesIn(o), ""
	for _, rule := range shown {
		if names[rule.KRI] {
			t.Errorf("%s: two rules of %s are called %s", story, o.Destination.ID, rule.KRI)
		}
		names[rule.KRI] = true
		if err := kuma.CheckKRI(c, rule.KRI); err != nil {
			t.Errorf("%s: %v", story, err)
		}
		answer, err := kuma.OutboundPolicies(m, c, r.Ref, outbound, rule.KRI)
		if err != nil {
			t.Errorf("%s: %s: %v", story, rule.KRI, err)
			continue
		}
		at := key(rule.ServerName, rule.Matches)
		if len(all[at]) == 0 {
			t.Fatalf("%s: nobody wrote %s", story, at)
		}
		want := all[at][0]
		all[at] = all[at][1:]
		if diff := cmp.Diff(policiesIn(want), answered(answer)); diff != "" {
			t.Errorf("%s: policies of %s: hold (-), shown (+): %s", story, rule.KRI, diff)
		}
		if text := text(t, answer); first == "" {
			first = text
		} else if text != first {
			n.differ++
		}
		n.conf(t, story, rule, want)
	}
	for at, left := range all {
		if len(left) > 0 {
			t.Errorf("%s: %s of %s is not shown", story, at, o.Destination.ID)
		}
	}
}

// conf holds the conf of a rule against what the rule does.
func (n *asked) conf(t *testing.T, story string, shown kuma.RouteRule, rule rule) {
	t.Helper()
	var conf struct {
		Filters      []struct{ Type string }
		BackendRefs  []struct{ Kind, Name string }
		OtherActions []string
	}
	if err := json.Unmarshal([]byte(text(t, shown.Conf)), &conf); err != nil {
		t.Fatal(err)
	}
	if shown.ServerName != "" {
		n.serverNames++
	}
	if len(conf.OtherActions) > 0 {
		n.inWords++
	}
	rt := rule.requests
	if rt == nil {
		if len(conf.BackendRefs) != len(rule.connections.Backends) {
			t.Errorf("%s: %s goes to %+v, shown is %+v", story, shown.KRI, rule.connections.Backends, conf)
		}
		return
	}
	if strings.HasPrefix(shown.KRI, "kri_mhttpr_") {
		return // as the documents spell it, who may leave all to others
	}
	told := len(conf.Filters) + len(conf.OtherActions)
	if _, redirects := rt.Answer.(*route.Redirect); told < len(rt.Filters) || redirects && told != len(rt.Filters)+1 {
		t.Errorf("%s: of %d filters of %s there are %+v", story, len(rt.Filters), shown.KRI, conf)
	}
	plain := 0
	for _, m := range rt.Mirrors {
		if m.Host == "" && m.Kind != api.KindAddress && len(m.Filters) == 0 {
			plain++
		}
	}
	for _, f := range conf.Filters {
		if f.Type == "RequestMirror" {
			plain--
			n.mirrors++
		}
	}
	if plain != 0 {
		t.Errorf("%s: of the mirrors of %s, %d more or fewer are shown as filters: %+v", story, shown.KRI, plain, conf)
	}
	if answer, ok := rt.Answers().(*route.Respond); ok && !strings.Contains(fmt.Sprint(conf.OtherActions), fmt.Sprint("answer ", answer.Status)) {
		t.Errorf("%s: %s answers %d, shown is %+v", story, shown.KRI, answer.Status, conf)
	}
	if rt.Answer == nil && len(conf.BackendRefs) != len(rt.Backends) {
		t.Errorf("%s: %s goes to %d backends, shown is %+v", story, shown.KRI, len(rt.Backends), conf)
	}
}

// rule is what holds for what one rule is for.
type rule struct {
	requests    *effective.Route
	connections *effective.TCPTable
	policies    effective.Policies
}

// rulesIn are the rules of an outbound that somebody wrote, by what they are for, in their order.
func rulesIn(o *effective.Outbound) map[string][]rule {
	out := map[string][]rule{}
	add := func(serverName string, matches []match.Match, r rule) {
		at := key(serverName, matches)
		out[at] = append(out[at], r)
	}
	if o.Table != nil {
		seen := map[string]bool{}
		for _, rt := range o.Table.Routes {
			if len(rt.Origins) > 0 && !seen[rt.Key] {
				seen[rt.Key] = true
				add("", rt.Matches, rule{requests: rt, policies: rt.Acting()})
			}
		}
		return out
	}
	if o.TCP.BackendsBy != nil {
		add("", nil, rule{connections: o.TCP, policies: o.Policies})
	}
	for _, s := range o.TCP.ServerNames {
		add(s.Name, nil, rule{connections: s.TCPTable, policies: o.Policies})
	}
	return out
}

func key(serverName string, matches []match.Match) string {
	out := serverName
	for i := range matches {
		out += " or " + matches[i].Text()
	}
	return out
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// policiesIn are the documents that say something of each kind, sorted.
func policiesIn(r rule) map[string][]string {
	out := map[string][]string{}
	for _, e := range r.policies {
		out[e.Kind.Name] = names(e, func(merge.Said) bool { return true })
	}
	return out
}

// answered are those that an answer names.
func answered(list kuma.PolicyList) map[string][]string {
	out := map[string][]string{}
	for _, k := range list.Policies {
		out[k.Kind] = unique(kriNames(k.Origins))
	}
	return out
}

// everyLanguage has a destination for each language, with rules of which each has a policy of its own.
const everyLanguage = `
{type: Dataplane, mesh: default, name: client, labels: {k8s.kuma.io/namespace: shop}, networking: {address: 10.0.0.1, outbound: [
  {port: 10001, backendRef: {kind: MeshService, name: web, port: 80}}, {port: 10002, backendRef: {kind: MeshService, name: calls, port: 80}},
  {port: 10003, backendRef: {kind: MeshService, name: db, port: 80}}, {port: 10004, backendRef: {kind: MeshService, name: names, port: 80}},
  {port: 10005, backendRef: {kind: MeshService, name: own, port: 80}}, {port: 10006, backendRef: {kind: MeshService, name: owndb, port: 80}}, {port: 80, hosts: {port: 80}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: calls, namespace: shop}, spec: {ports: [{port: 80, appProtocol: grpc}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {ports: [{port: 80, appProtocol: tcp}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: names, namespace: shop}, spec: {ports: [{port: 80, appProtocol: tls}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: own, namespace: shop}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: owndb, namespace: shop}, spec: {ports: [{port: 80, appProtocol: tcp}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [
  {name: one, matches: [{path: {type: PathPrefix, value: /one}}], backendRefs: [{name: web, port: 80}, {name: nosuch, port: 80}]},
  {name: two, matches: [{path: {type: PathPrefix, value: /two}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: two.test}}]},
  {name: three, matches: [{path: {type: PathPrefix, value: /three}}, {path: {type: PathPrefix, value: /drei}}], filters: [{type: URLRewrite, urlRewrite: {hostname: three.test}}, {type: RequestMirror, requestMirror: {backendRef: {name: own, port: 80}}}], backendRefs: [{name: web, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: calls, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: calls}], rules: [
  {name: one, matches: [{method: {service: one}}], backendRefs: [{name: calls, port: 80}]}, {name: two, matches: [{method: {service: two}}], backendRefs: [{name: calls, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: db, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: db}], rules: [{backendRefs: [{name: db, port: 80, weight: 3}, {name: owndb, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {name: names, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: names}], hostnames: [a.test, b.test], rules: [{backendRefs: [{name: names, port: 80}]}]}}
---
{type: MeshHTTPRoute, mesh: default, name: own, labels: {k8s.kuma.io/namespace: shop}, spec: {to: [{targetRef: {kind: MeshService, name: own}, rules: [
  {name: one, matches: [{path: {type: PathPrefix, value: /one}}], default: {}}, {name: two, matches: [{path: {type: PathPrefix, value: /two}}], default: {backendRefs: [{kind: MeshService, name: web, port: 80}]}}]}]}}
---
{type: MeshTCPRoute, mesh: default, name: own, labels: {k8s.kuma.io/namespace: shop}, spec: {to: [{targetRef: {kind: MeshService, name: owndb}, rules: [{default: {backendRefs: [{kind: MeshService, name: db, port: 80}]}}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: proxy, namespace: shop}, spec: {virtualhost: {fqdn: proxy.test}, includes: [{name: part, conditions: [{prefix: /a}]}, {name: part, conditions: [{prefix: /b}]}], routes: [
  {conditions: [{prefix: /one}], services: [{name: web, port: 80}], timeoutPolicy: {response: 60s}}, {conditions: [{prefix: /two}], services: [{name: web, port: 80}]},
  {conditions: [{prefix: /three}], directResponsePolicy: {statusCode: 410}}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: part, namespace: shop}, spec: {routes: [{services: [{name: web, port: 80}]}]}}
---
{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: group, namespace: shop}, spec: {hosts: [group.test], backends: [{name: web, type: service, serviceName: web, servicePort: 80}, {name: gone, type: shunt}], defaultBackends: [{backendName: web}],
  routes: [{pathSubtree: /one, filters: ['backendTimeout("60s")']}, {pathSubtree: /two}, {pathSubtree: /three, backends: [{backendName: gone}], filters: ['status(418)']}, {pathSubtree: /four, filters: ['latency(100)']}]}}
---
{type: MeshTimeout, mesh: default, name: second, labels: {k8s.kuma.io/namespace: shop}, spec: {targetRef: {kind: HTTPRoute, name: web, sectionName: three}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 7s}}}]}}
---
{type: MeshTimeout, mesh: default, name: call, labels: {k8s.kuma.io/namespace: shop}, spec: {targetRef: {kind: GRPCRoute, name: calls, sectionName: two}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 7s}}}]}}
---
{type: MeshTimeout, mesh: default, name: own, labels: {k8s.kuma.io/namespace: shop}, spec: {targetRef: {kind: MeshHTTPRoute, name: own, sectionName: two}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 7s}}}]}}
`
