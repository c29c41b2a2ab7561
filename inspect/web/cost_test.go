package web_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/resolve"
)

// A law says how many values of the model an answer may look at.
type law int

const (
	no    law = iota // it asks no model
	page             // none, and as many documents as the page and what is before it hold
	same             // as many in a large mesh as in a small one, where both say the same
	lists            // as many times more as the mesh is larger, at most: the answer tells of so much
)

// laws are those of every endpoint, with a request to it in a mesh of services
// s-0, s-1, … that are alike.
var laws = map[string]struct {
	law
	request string
}{
	"GET /{$}": {no, "GET /"}, "GET /healthz": {no, "GET /healthz"}, "GET /readyz": {no, "GET /readyz"}, "GET /metrics": {no, "GET /metrics"}, "GET /metrics/traffic": {no, "GET /metrics/traffic"}, "GET /config": {no, "GET /config"},
	"GET /who-am-i": {no, "GET /who-am-i"}, "GET /_resources": {no, "GET /_resources"}, "GET /policies": {no, "GET /policies"},
	"GET /global-insight": {no, "GET /global-insight"}, "GET /mesh-insights": {no, "GET /mesh-insights"}, "GET /mesh-insights/{mesh}": {no, "GET /mesh-insights/default"},
	"GET /meshes/{mesh}/service-insights": {no, "GET /meshes/default/service-insights"}, "GET /meshes/{mesh}/service-insights/{name}": {no, "GET /meshes/default/service-insights/s-5"},
	"GET /_openapi.json": {no, "GET /_openapi.json"}, "GET /_schemas/{kind}": {no, "GET /_schemas/MeshRetry"},
	"POST /tokens/dataplane": {no, `POST /tokens/dataplane {"mesh":"default","name":"d-5"}`}, "POST /tokens/user": {no, `POST /tokens/user {"name":"x"}`},
	"POST /tokens/revoke": {no, `POST /tokens/revoke {"ids":["1"]}`}, "GET /tokens/revoked": {no, "GET /tokens/revoked"}, "POST /tokens/zone": {no, "POST /tokens/zone"},
	"GET /_events": {no, ""}, // it has no end

	"POST /_apply":    {same, "POST /_apply " + write},
	"GET /_kri/{kri}": {same, "GET /_kri/kri_mr_default_east__r-5_"}, "GET /meshes": {page, "GET /meshes"}, "GET /meshes/{mesh}": {no, "GET /meshes/default"},
	"PUT /meshes/{mesh}": {same, `PUT /meshes/other {"type":"Mesh","name":"other"}`}, "DELETE /meshes/{mesh}": {no, "DELETE /meshes/other"},
	"GET /meshes/{mesh}/{plural}": {page, "GET /meshes/default/meshretries?size=3&offset=4"}, "GET /meshes/{mesh}/{plural}/{name}": {same, "GET /meshes/default/meshretries/r-5"},
	"PUT /meshes/{mesh}/{plural}/{name}":    {same, "PUT /meshes/default/meshretries/r-5 " + write},
	"DELETE /meshes/{mesh}/{plural}/{name}": {no, "DELETE /meshes/default/meshretries/r-7"},
	"GET /{plural}":                         {page, "GET /meshretries?size=3&format=written"}, "GET /{plural}/{name}": {no, "GET /hostnamegenerators/local"},
	"PUT /{plural}/{name}":    {same, `PUT /hostnamegenerators/more {"type":"HostnameGenerator","name":"more","spec":{"template":"x","selector":{"meshService":{"matchLabels":{"a":"b"}}}}}`},
	"DELETE /{plural}/{name}": {no, "DELETE /hostnamegenerators/more"},

	"GET /_history": {no, "GET /_history?size=2"}, "GET /_diff": {no, "GET /_diff?from=1&to=1"}, "POST /_rollback": {same, "POST /_rollback?to=1"},

	"GET /zones/_overview": {no, "GET /zones/_overview"}, "GET /zoneingresses/_overview": {no, "GET /zoneingresses/_overview"}, "GET /zoneegresses/_overview": {no, "GET /zoneegresses/_overview"},
	"GET /meshes/{mesh}/dataplanes/_overview": {page, "GET /meshes/default/dataplanes/_overview?size=5"}, "GET /dataplanes/_overview": {page, "GET /dataplanes/_overview?size=5"},
	"GET /meshes/{mesh}/dataplanes+insights": {page, "GET /meshes/default/dataplanes+insights?size=5"}, "GET /meshes/{mesh}/dataplanes/{name}/_overview": {no, "GET /meshes/default/dataplanes/d-5/_overview"},
	"GET /meshes/{mesh}/dataplanes+insights/{name}":                        {no, "GET /meshes/default/dataplanes+insights/d-5"},
	"GET /meshes/{mesh}/_sidecars":                                         {page, "GET /meshes/default/_sidecars?size=5"},
	"GET /meshes/{mesh}/_traffic":                                          {no, "GET /meshes/default/_traffic"},
	"GET /meshes/{mesh}/_requests":                                         {lists, "GET /meshes/default/_requests"},
	"GET /meshes/{mesh}/_requests/{id}":                                    {lists, "GET /meshes/default/_requests/x"},
	"GET /meshes/{mesh}/dataplanes/{name}/_requests":                       {same, "GET /meshes/default/dataplanes/d-5/_requests"},
	"POST /meshes/{mesh}/_taps":                                            {same, `POST /meshes/default/_taps {"dataplanes":["d-5"],"for":"1ms"}`},
	"GET /meshes/{mesh}/{plural}/{name}/_dataplanes":                       {same, "GET /meshes/default/meshservices/m-5/_dataplanes"},
	"GET /meshes/{mesh}/{plural}/{name}/_hostnames":                        {same, "GET /meshes/default/meshservices/m-5/_hostnames"},
	"GET /meshes/{mesh}/dataplanes/{name}/_rules":                          {lists, "GET /meshes/default/dataplanes/d-5/_rules"},
	"GET /meshes/{mesh}/dataplanes/{name}/rules":                           {lists, "GET /meshes/default/dataplanes/d-5/rules"},
	"GET /meshes/{mesh}/dataplanes/{name}/policies":                        {same, "GET /meshes/default/dataplanes/d-5/policies"},
	"GET /meshes/{mesh}/dataplanes/{name}/_config":                         {lists, "GET /meshes/default/dataplanes/d-5/_config?shadow=true&include=diff"},
	"GET /meshes/{mesh}/dataplanes/{name}/_layout":                         {same, "GET /meshes/default/dataplanes/d-5/_layout"},
	"GET /meshes/{mesh}/dataplanes/{name}/_policies":                       {same, "GET /meshes/default/dataplanes/d-5/_policies"},
	"GET /meshes/{mesh}/dataplanes/{name}/_explain":                        {lists, "GET /meshes/default/dataplanes/d-5/_explain"},
	"POST /meshes/{mesh}/dataplanes/{name}/_simulate":                      {same, `POST /meshes/default/dataplanes/d-5/_simulate {"url":"http://s-6/v1"}`},
	"GET /meshes/{mesh}/{plural}/{name}/_explain":                          {same, "GET /meshes/default/meshtimeouts/t-5/_explain"},
	"GET /meshes/{mesh}/{plural}/{name}/_resources/dataplanes":             {lists, "GET /meshes/default/meshtimeouts/t-5/_resources/dataplanes"},
	"GET /meshes/{mesh}/{plural}/{name}/dataplanes":                        {lists, "GET /meshes/default/meshretries/r-5/dataplanes"},
	"GET /k8s/{group}/{version}/namespaces/{namespace}/{plural}/{name}":    {same, "GET /k8s/gateway.networking.k8s.io/v1/namespaces/a/httproutes/g-5"},
	"PUT /k8s/{group}/{version}/namespaces/{namespace}/{plural}/{name}":    {same, "PUT /k8s/gateway.networking.k8s.io/v1/namespaces/a/httproutes/g-5 " + hung},
	"DELETE /k8s/{group}/{version}/namespaces/{namespace}/{plural}/{name}": {law: no},
	"GET /k8s/{group}/{version}/{plural}/{name}":                           {no, "GET /k8s/core/v1/namespaces/a"},
	"PUT /k8s/{group}/{version}/{plural}/{name}":                           {same, `PUT /k8s/core/v1/namespaces/a {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`},
	"DELETE /k8s/{group}/{version}/{plural}/{name}":                        {law: no},

	"GET /meshes/{mesh}/dataplanes/{name}/xds":      {no, "GET /meshes/default/dataplanes/d-5/xds"},
	"GET /meshes/{mesh}/dataplanes/{name}/stats":    {no, "GET /meshes/default/dataplanes/d-5/stats"},
	"GET /meshes/{mesh}/dataplanes/{name}/clusters": {no, "GET /meshes/default/dataplanes/d-5/clusters"},

	"GET /meshes/{mesh}/_status":      {lists, "GET /meshes/default/_status"},
	"GET /meshes/{mesh}/_permissions": {lists, "GET /meshes/default/_permissions?to=s-5"},
	"GET /meshes/{mesh}/_mtls":        {lists, "GET /meshes/default/_mtls"},
	"GET /_problems":                  {lists, "GET /_problems"},

	"GET /meshes/{mesh}/_authorities": {no, "GET /meshes/default/_authorities"}, "POST /meshes/{mesh}/_authorities/rotate": {no, "POST /meshes/default/_authorities/rotate {}"},
	"POST /meshes/{mesh}/_authorities/abort": {no, "POST /meshes/default/_authorities/abort {}"}, "POST /meshes/{mesh}/_authorities/revoke": {no, `POST /meshes/default/_authorities/revoke {"spiffeID":"spiffe://default/x"}`},

	"GET /meshes/{mesh}/dataplanes/{name}/_inbounds/{kri}/_policies":                  {same, "GET /meshes/default/dataplanes/d-5/_inbounds/kri_dp_default_east__d-5_80/_policies"},
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_policies":                 {same, "GET /meshes/default/dataplanes/d-5/_outbounds/kri_msvc_default___s-6_/_policies"},
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_routes":                   {same, "GET /meshes/default/dataplanes/d-5/_outbounds/kri_msvc_default___s-6_/_routes"},
	"GET /meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_routes/{route}/_policies": {same, "GET /meshes/default/dataplanes/d-5/_outbounds/kri_msvc_default___s-6_/_routes/x/_policies"},
}

const write = `{"type":"MeshRetry","mesh":"default","name":"r-5","spec":{"targetRef":{"kind":"MeshHTTPRoute","name":"r-5"},"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":4}}}]}}`

const hung = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"g-5","namespace":"a"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"k"}]}}`

// town is a mesh of services, each with a route, a retry attached to it, a timeout,
// a MeshService, and three callers.
func town(services int) string {
	text := "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: g-5, namespace: a}, spec: {parentRefs: [{group: '', kind: Service, name: k}]}}\n---\n"
	text += "{type: HostnameGenerator, name: local, spec: {template: '{{ .DisplayName }}.mesh', selector: {meshService: {matchLabels: {kuma.io/origin: zone}}}}}\n"
	for i := range services {
		text += fmt.Sprintf(`---
{type: MeshHTTPRoute, mesh: default, name: r-%[1]d, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: s-%[1]d}, rules: [{matches: [{path: {type: PathPrefix, value: /v1}}], default: {}}]}]}}
---
{type: MeshRetry, mesh: default, name: r-%[1]d, spec: {targetRef: {kind: MeshHTTPRoute, name: r-%[1]d}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}}
---
{type: MeshTimeout, mesh: default, name: t-%[1]d, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: s-%[1]d}, default: {http: {requestTimeout: 3s}}}]}}
---
{type: MeshService, mesh: default, name: m-%[1]d, spec: {selector: {dataplaneTags: {kuma.io/service: s-%[1]d}}, ports: [{port: 80, appProtocol: http}]}}
---
{type: Dataplane, mesh: default, name: d-%[1]d, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: s-%[1]d, kuma.io/protocol: http}}],
  outbound: [{port: 10001, tags: {kuma.io/service: s-%[2]d}}, {port: 10002, tags: {kuma.io/service: s-%[3]d}}, {port: 10003, tags: {kuma.io/service: s-%[4]d}}]}}
`, i, (i+1)%services, (i+2)%services, (i+3)%services)
	}
	return text
}

// spending counts what the answers of a server cost.
type spending struct {
	mu     sync.Mutex
	asked  []*resolve.Reader
	listed int
}

func (s *spending) list(documents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed += documents
}

func (s *spending) add(q *resolve.Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
}

// take is how many readers there were since the last time, and what they and lists
// looked at.
func (s *spending) take() (readers, visited, listed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.asked {
		visited += q.Visited()
	}
	readers, listed = len(s.asked), s.listed
	s.asked, s.listed = nil, 0
	return readers, visited, listed
}

// Every endpoint has a law of what it costs, in values and not in time, and keeps it.
func TestEveryAnswerCostsWhatItTells(t *testing.T) {
	t.Parallel()
	const times = 4
	var costs [2]map[string]int
	for i, size := range []int{10, 10 * times} {
		var spent spending
		server, _ := serveWith(t, town(size), false, func(c *web.Config) {
			c.OnReader, c.Listed, c.Envoys, c.Traffic = spent.add, spent.list, newSeeing(), noCounts{}
		})
		costs[i] = map[string]int{}
		for _, pattern := range slices.Sorted(maps.Keys(laws)) {
			l := laws[pattern]
			if l.request == "" {
				continue
			}
			method, rest, _ := strings.Cut(l.request, " ")
			path, body, _ := strings.Cut(rest, " ")
			status, text := call(t, method, server.URL+path, body)
			if status >= http.StatusBadRequest && l.law > no && !strings.HasSuffix(path, "/x/_policies") {
				t.Errorf("%s: %d %s", l.request, status, text)
			}
			readers, visited, listed := spent.take()
			if (readers == 0) != (l.law == no || l.law == page) {
				t.Errorf("%s: %d readers of the model", l.request, readers)
			}
			if (listed == 0) == (l.law == page) {
				t.Errorf("%s: a list looked at %d documents", l.request, listed)
			}
			costs[i][pattern] = visited + listed
		}
	}
	for _, pattern := range web.Patterns() {
		l, ok := laws[pattern]
		small, large := costs[0][pattern], costs[1][pattern]
		switch {
		case !ok:
			t.Errorf("%s has no law: say what it may cost", pattern)
		case (l.law == same || l.law == page) && small != large, l.law == lists && large > (times+1)*small:
			t.Errorf("%s looks at %d values in a small mesh, at %d in one %d times as large", pattern, small, large, times)
		}
	}
}
