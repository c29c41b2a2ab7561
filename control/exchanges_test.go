package control_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
)

// exchanged is a mesh in which each layer says something: the mesh, services, a route, callers,
// an inbound, an override; over HTTP and over TCP, of a MeshService and of a tag.
const exchanged = `
{type: Mesh, name: default, meshServices: {mode: Everywhere}}
---
{type: HostnameGenerator, name: local, spec: {template: '{{ .DisplayName }}.mesh.local', selector: {meshService: {}}}}
---
{type: MeshService, mesh: default, name: items, spec: {selector: {dataplaneTags: {app: items}}, ports: [{name: main, port: 80, targetPort: 8080, appProtocol: http}]}}
---
{type: MeshService, mesh: default, name: redis, spec: {selector: {dataplaneTags: {app: redis}}, ports: [{port: 6379, appProtocol: tcp}]}}
---
type: Dataplane
mesh: default
name: shop-1
labels: {team: red}
networking:
  address: 127.0.0.1
  inbound: [{port: %d, name: main, tags: {kuma.io/service: shop, kuma.io/protocol: http}}]
  outbound:
    - {port: %d, backendRef: {kind: MeshService, name: items, port: 80}}
    - {port: %d, backendRef: {kind: MeshService, name: redis, port: 6379}}
    - {port: %d, tags: {kuma.io/service: old}}
---
{type: Dataplane, mesh: default, name: items-1, networking: {address: 127.0.0.2, inbound: [{port: 8080, tags: {kuma.io/service: items-classic, kuma.io/protocol: http, app: items}}]}}
---
{type: Dataplane, mesh: default, name: redis-1, networking: {address: 127.0.0.3, inbound: [{port: 6379, tags: {kuma.io/service: redis-classic, app: redis}}]}}
---
{type: Dataplane, mesh: default, name: old-1, networking: {address: 127.0.0.4, inbound: [{port: 8080, tags: {kuma.io/service: old, kuma.io/protocol: http}}]}}
---
type: MeshHTTPRoute
mesh: default
name: of-items
spec:
  to:
    - targetRef: {kind: MeshService, name: items}
      rules:
        - matches: [{path: {type: PathPrefix, value: /v1}, headers: [{name: x-a, value: b}]}]
          default: {backendRefs: [{kind: MeshService, name: items, port: 80, weight: 3}]}
        - {matches: [{path: {type: Exact, value: /v2}, method: GET}], default: {}}
---
{type: MeshHTTPRoute, mesh: default, name: of-old, spec: {to: [{targetRef: {kind: MeshService, name: old}, rules: [{matches: [{path: {type: PathPrefix, value: /old}}], default: {}}]}]}}
---
{type: MeshTCPRoute, mesh: default, name: of-redis, spec: {to: [{targetRef: {kind: MeshService, name: redis}, rules: [{default: {backendRefs: [{kind: MeshService, name: redis, port: 6379}]}}]}]}}
---
{type: MeshRetry, mesh: default, name: all, spec: {to: [{targetRef: {kind: Mesh}, default: {tcp: {maxConnectAttempt: 4}, http: {numRetries: 2, perTryTimeout: 1s, retryOn: [5xx]}}}]}}
---
{type: MeshRetry, mesh: default, name: of-items, spec: {targetRef: {kind: MeshHTTPRoute, name: of-items}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 7}}}]}}
---
{type: MeshTimeout, mesh: default, name: all, spec: {to: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 3s}}], from: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 9s}}}]}}
---
{type: MeshTimeout, mesh: default, name: platform, spec: {to: [{targetRef: {kind: Mesh}, override: {http: {streamIdleTimeout: 60s}}}]}}
---
{type: MeshTimeout, mesh: default, name: items, spec: {to: [{targetRef: {kind: MeshService, name: items}, default: {http: {requestTimeout: 8s, streamIdleTimeout: 5s}}}]}}
---
{type: MeshTimeout, mesh: default, name: of-old, spec: {to: [{targetRef: {kind: MeshHTTPRoute, name: of-old}, default: {http: {requestTimeout: 6s}}}]}}
---
{type: MeshRateLimit, mesh: default, name: shop, spec: {targetRef: {kind: Dataplane, name: shop-1}, rules: [{default: {local: {http: {requestRate: {num: 5, interval: 10s}}}}}]}}
---
{type: MeshTimeout, mesh: default, name: a-shadow, labels: {kuma.io/effect: shadow}, spec: {to: [{targetRef: {kind: MeshService, name: items}, default: {http: {requestTimeout: 7s}}}]}}
`

// exchanges is a running control plane with a real Envoy for shop-1, and what it explains.
type exchanges struct {
	*plane
	explained explain.Explanation
	kris      map[string]string // of documents, by KIND/NAME
}

const shopOne = "/meshes/default/dataplanes/shop-1"

// json is the answer to a GET, decoded.
func (x *exchanges) json(path string) map[string]any {
	x.t.Helper()
	return get[map[string]any](x.plane, path)
}

// items are those of a list.
func (x *exchanges) items(path string) []any {
	x.t.Helper()
	items, ok := x.json(path)["items"].([]any)
	if !ok {
		x.t.Errorf("%s has no items", path)
	}
	return items
}

// all is a query for everything that a list holds.
const all = "?size=1000"

// equal fails where an answer says other than what is explained.
func (x *exchanges) equal(what string, got, want any) {
	x.t.Helper()
	if !reflect.DeepEqual(plain(got), plain(want)) {
		x.t.Errorf("%s: %s\nwant %s", what, text(got), text(want))
	}
}

// plain is a value as JSON has it.
func plain(v any) (out any) {
	if json.Unmarshal([]byte(text(v)), &out) != nil {
		return nil
	}
	return out
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// opinion is what _explain says of a policy without what is built in: by field what holds, and
// of whom, weakest first.
type opinion struct {
	holds map[string]any
	by    map[string][]string
}

// of is what those whom takes takes say.
func opinionOf(p sim.Policy, takes func(*api.Origin) bool) opinion {
	out := opinion{map[string]any{}, map[string][]string{}}
	for field, said := range p.Why {
		for _, s := range said {
			if s.Layer != "default" && takes(s.Origin) {
				out.holds[field] = s.Value
				out.by[field] = append(out.by[field], s.Origin.Kind+"/"+s.Origin.Name)
			}
		}
	}
	return out
}

func anybody(*api.Origin) bool { return true }

// says fails where a conf and its origins, weakest first, are other than an opinion.
func (x *exchanges) says(what string, o opinion, conf any, origins []string) {
	x.t.Helper()
	holds, authors := map[string]any{}, map[string]bool{}
	IssuedCertificates("", conf, o.holds, holds)
	x.equal(what, holds, o.holds)
	for field, by := range o.by {
		at := -1
		for _, author := range by {
			authors[author] = true
			next := slices.Index(origins, author)
			if next < at || next < 0 {
				x.t.Errorf("%s: %s of %v, shown of %v", what, field, by, origins)
			}
			at = next
		}
	}
	x.equal(what+": origins", slices.Compact(slices.Sorted(slices.Values(origins))), slices.Sorted(maps.Keys(authors)))
}

// IssuedCertificates are the values of a conf by the fields that known has, and by those that it should not
// have.
func IssuedCertificates(at string, conf any, known, out map[string]any) {
	fields, ok := conf.(map[string]any)
	if _, leaf := known[at]; leaf || !ok {
		out[at] = conf
		return
	}
	for name, v := range fields {
		IssuedCertificates(strings.TrimPrefix(at+"."+name, "."), v, known, out)
	}
}

// named are origins, which a view has as metas, as items of metas, as KRIs or as names of a kind.
func (x *exchanges) named(kind string, origins any) []string {
	x.t.Helper()
	list, _ := origins.([]any)
	out := []string{}
	for _, o := range list {
		m := o.(map[string]any)
		if meta, ok := m["resourceMeta"].(map[string]any); ok {
			m = meta
		}
		if m["type"] != nil {
			kind = m["type"].(string)
		}
		name, _ := m["name"].(string)
		for author, kri := range x.kris {
			if m["kri"] == kri {
				kind, name, _ = strings.Cut(author, "/")
			}
		}
		out = append(out, kind+"/"+name)
	}
	return out
}

// outbound is what is explained of the outbound with an address.
func (x *exchanges) outbound(address string) *explain.Outbound {
	x.t.Helper()
	for i := range x.explained.Outbounds {
		if o := &x.explained.Outbounds[i]; fmt.Sprintf("%s:%d", o.Address, o.Port) == address {
			return o
		}
	}
	x.t.Fatalf("no outbound at %s is explained", address)
	return nil
}

// written are the routes of an outbound that somebody wrote.
func written(o *explain.Outbound) []explain.Route {
	return slices.DeleteFunc(slices.Clone(o.Routes), func(r explain.Route) bool { return len(r.Origins) == 0 })
}

// TestExchangesWithKumasClients holds every endpoint of the API against what _explain says of
// the same dataplane and its Envoy (spec/kuma.md 5). One without a row fails.
func TestExchangesWithKumasClients(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.TrafficMetrics = true
	x := &exchanges{plane: start(t, c), kris: map[string]string{}}
	port := func() uint32 { return envoytest.Port(t) }
	x.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(exchanged, port(), port(), port(), port()))
	x.runs("shop-1")
	x.explained = get[explain.Explanation](x.plane, shopOne+"/_explain")
	for _, plural := range []string{"meshretries", "meshtimeouts", "meshratelimits", "meshhttproutes", "meshtcproutes", "meshservices", "dataplanes"} {
		for _, item := range x.items("/meshes/default/" + plural + all) {
			m := item.(map[string]any)
			x.kris[m["type"].(string)+"/"+m["name"].(string)] = m["kri"].(string)
		}
	}
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	rows := maps.Clone(exchangeRows)
	maps.Copy(rows, ownRows)
	seen := map[string]bool{"POST /bootstrap": true} // at the address for sidecars, of which the document does not tell
	for path, methods := range doc.Paths {
		for method := range methods {
			endpoint := strings.ToUpper(method) + " " + path
			seen[endpoint] = true
			if _, ok := rows[endpoint]; !ok {
				t.Errorf("%s has no row", endpoint)
			}
		}
	}
	for _, endpoint := range slices.Sorted(maps.Keys(rows)) {
		if !seen[endpoint] {
			t.Errorf("there is a row for %s, which the API has not", endpoint)
		}
		t.Run(endpoint, func(t *testing.T) {
			asked, at := *x, *x.plane
			at.t, asked.plane = t, &at
			rows[endpoint](&asked)
		})
	}
}
