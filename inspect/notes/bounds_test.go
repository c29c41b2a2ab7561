package notes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// boundsMesh is a mesh in which till calls stock, and a rule of it leads to price.
const boundsMesh = `
type: Dataplane
mesh: default
name: till-1
networking:
  address: 127.0.0.1
  inbound: [{port: 21080, tags: {kuma.io/service: till, kuma.io/protocol: http}}]
  outbound: [{port: 21001, tags: {kuma.io/service: stock}}, {port: 21002, tags: {kuma.io/service: price}}]
---
type: Dataplane
mesh: default
name: stock-1
networking:
  address: 127.0.0.2
  inbound: [{port: 21180, tags: {kuma.io/service: stock, kuma.io/protocol: http}}]
---
type: Dataplane
mesh: default
name: price-1
networking:
  address: 127.0.0.3
  inbound: [{port: 21380, tags: {kuma.io/service: price, kuma.io/protocol: http}}]
`

func boundPolicy(kind, name, to, said string) string {
	return fmt.Sprintf("type: %s\nmesh: default\nname: %s\nspec:\n  targetRef: {kind: Mesh}\n  to: [{targetRef: %s, %s}]\n", kind, name, to, said)
}

const (
	toMesh  = "{kind: Mesh}"
	toStock = "{kind: MeshService, name: stock}"
	toPrice = "{kind: MeshService, name: price}"
	toRoute = "{kind: MeshHTTPRoute, name: r}"
)

// Policies of the table, by the names that it has for them.
var boundPolicies = map[string]string{
	"request 60s":                boundPolicy("MeshTimeout", "request", toStock, "default: {http: {requestTimeout: 60s}}"),
	"request 60s mesh":           boundPolicy("MeshTimeout", "request", toMesh, "default: {http: {requestTimeout: 60s}}"),
	"request 60s override":       boundPolicy("MeshTimeout", "request", toStock, "override: {http: {requestTimeout: 60s}}"),
	"request 60s rule":           boundPolicy("MeshTimeout", "request", toRoute, "default: {http: {requestTimeout: 60s}}"),
	"request 0s":                 boundPolicy("MeshTimeout", "request", toStock, "default: {http: {requestTimeout: 0s}}"),
	"request 1s":                 boundPolicy("MeshTimeout", "request", toStock, "default: {http: {requestTimeout: 1s}}"),
	"stream 5s":                  boundPolicy("MeshTimeout", "stream", toStock, "default: {http: {maxStreamDuration: 5s}}"),
	"stream 5s of price":         boundPolicy("MeshTimeout", "stream", toPrice, "default: {http: {maxStreamDuration: 5s}}"),
	"stream 90s":                 boundPolicy("MeshTimeout", "stream", toStock, "default: {http: {maxStreamDuration: 90s}}"),
	"stream 0s":                  boundPolicy("MeshTimeout", "stream", toStock, "default: {http: {maxStreamDuration: 0s}}"),
	"idle 5s":                    boundPolicy("MeshTimeout", "idle", toStock, "default: {http: {streamIdleTimeout: 5s}}"),
	"try 2s":                     boundPolicy("MeshRetry", "try", toStock, "default: {http: {numRetries: 5, perTryTimeout: 2s, retryOn: [ConnectFailure]}}"),
	"try 2s on 5xx":              boundPolicy("MeshRetry", "try", toStock, "default: {http: {numRetries: 1, perTryTimeout: 2s, retryOn: [5xx]}}"),
	"try 2s without retry":       boundPolicy("MeshRetry", "try", toStock, "default: {http: {numRetries: 0, perTryTimeout: 2s}}"),
	"try 9s on 5xx":              boundPolicy("MeshRetry", "try", toStock, "default: {http: {numRetries: 1, perTryTimeout: 9s, retryOn: [5xx]}}"),
	"retry on 5xx":               boundPolicy("MeshRetry", "try", toStock, "default: {http: {numRetries: 1, retryOn: [5xx]}}"),
	"inbound request 3s":         "type: MeshTimeout\nmesh: default\nname: inbound\nspec:\n  targetRef: {kind: Mesh}\n  rules: [{default: {http: {requestTimeout: 3s}}}]\n",
	"inbound request 3s of weft": "type: MeshTimeout\nmesh: default\nname: inbound\nlabels: {weft.io/default: \"true\"}\nspec:\n  targetRef: {kind: Mesh}\n  rules: [{default: {http: {requestTimeout: 3s}}}]\n",
	"inbound stream 3s":          "type: MeshTimeout\nmesh: default\nname: inbound\nspec:\n  targetRef: {kind: Mesh}\n  from: [{targetRef: {kind: Mesh}, default: {http: {maxStreamDuration: 3s}}}]\n",
	"inbound till 3s":            "type: MeshTimeout\nmesh: default\nname: inbound\nspec:\n  targetRef: {kind: Dataplane, name: till-1}\n  rules: [{default: {http: {requestTimeout: 3s}}}]\n",
	"route to price":             "type: MeshHTTPRoute\nmesh: default\nname: r\nspec:\n  targetRef: {kind: Mesh}\n  to: [{targetRef: " + toStock + ", rules: [{matches: [{path: {type: PathPrefix, value: /p}}], default: {backendRefs: [{kind: MeshService, name: price}]}}]}]\n",
	"try 2s of all":              boundPolicy("MeshRetry", "try", toMesh, "default: {http: {numRetries: 5, perTryTimeout: 2s, retryOn: [ConnectFailure]}}"),
	"HTTPRoute 60s":              ofService + httpRoute("60s"),
	"HTTPRoute 0s":               ofService + httpRoute("0s"),
	"HTTPProxy 60s": hosts + "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: proxy, namespace: default}\nspec:\n  virtualhost: {fqdn: x.example.com}\n" +
		"  routes: [{conditions: [{prefix: /}], services: [{name: s1, port: 80}], timeoutPolicy: {response: 60s}}]\n",
	"RouteGroup 60s": hosts + "apiVersion: zalando.org/v1\nkind: RouteGroup\nmetadata: {name: group, namespace: default}\nspec:\n  hosts: [y.example.com]\n" +
		"  backends: [{name: b, type: service, serviceName: s1, servicePort: 80}]\n  defaultBackends: [{backendName: b}]\n  routes: [{pathSubtree: /, filters: ['backendTimeout(\"60s\")']}]\n",
}

// hosts lets another dataplane call a service by its hosts and its name.
const hosts = `
type: Dataplane
mesh: default
name: caller-1
labels: {k8s.kuma.io/namespace: default}
networking:
  address: 127.0.0.8
  inbound: [{port: 21880, tags: {kuma.io/service: caller, kuma.io/protocol: http}}]
  outbound: [{port: 10080, hosts: {port: 80}}, {port: 10081, backendRef: {kind: MeshService, name: s1, namespace: default, port: 80}}]
---
{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: s1, namespace: default}, spec: {selector: {dataplaneTags: {kuma.io/service: stock}}, ports: [{port: 80, targetPort: 21180, appProtocol: http}]}}
---
`

// ofService lets another dataplane call a Service of Kubernetes.
const ofService = `
type: Dataplane
mesh: default
name: caller-2
labels: {k8s.kuma.io/namespace: default}
networking:
  address: 127.0.0.7
  inbound: [{port: 21780, tags: {kuma.io/service: caller, kuma.io/protocol: http}}]
  transparentProxying: {redirectPortInbound: 15006, redirectPortOutbound: 15001}
---
apiVersion: v1
kind: Service
metadata: {name: s2, namespace: default}
spec: {clusterIP: 10.96.0.10, ports: [{name: p80, port: 80, targetPort: 8080, appProtocol: http}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s2-1, namespace: default, labels: {kubernetes.io/service-name: s2}}
addressType: IPv4
ports: [{name: p80, port: 8080}]
endpoints: [{addresses: [10.7.0.60]}]
---
`

func httpRoute(timeout string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: hr, namespace: default}\nspec:\n" +
		"  parentRefs: [{group: '', kind: Service, name: s2}]\n  rules: [{timeouts: {request: " + timeout + "}, backendRefs: [{name: s2, port: 80}]}]\n"
}

// TestBoundsThatNeverFire crosses all bounds in time: whoever wrote one that a shorter one makes void
// is told, and whoever wrote the shorter one; nobody is where both may end a request.
func TestBoundsThatNeverFire(t *testing.T) {
	t.Parallel()
	const (
		request = " spec.to[0].default.http.requestTimeout"
		stream  = " spec.to[0].default.http.maxStreamDuration"
		try     = "MeshRetry try spec.to[0].default.http.perTryTimeout"
		byRule  = "MeshTimeout inbound spec.rules[0].default.http.requestTimeout"
	)
	for said, want := range map[string][]string{
		"try 2s":                                          {try},
		"try 2s, request 60s":                             {try, "MeshTimeout request" + request},
		"try 2s, request 60s mesh":                        {try, "MeshTimeout request" + request},
		"try 2s, request 0s":                              {try, "MeshTimeout request" + request},
		"try 2s, request 60s override":                    {try, "MeshTimeout request spec.to[0].override.http.requestTimeout"},
		"try 2s, route to price, request 60s rule":        {try, "MeshTimeout request" + request},
		"try 2s, request 1s":                              nil,
		"try 2s on 5xx, request 60s":                      nil,
		"try 2s without retry, request 60s":               nil,
		"try 2s of all, HTTPRoute 60s":                    {"HTTPRoute hr spec.rules[0].timeouts.request", try},
		"try 2s of all, HTTPRoute 0s":                     {"HTTPRoute hr spec.rules[0].timeouts.request", try},
		"try 2s of all, HTTPProxy 60s":                    {"HTTPProxy proxy spec.routes[0].timeoutPolicy", try},
		"try 2s of all, RouteGroup 60s":                   {"RouteGroup group spec.routes[0].filters[0]", try},
		"stream 5s":                                       nil,
		"stream 5s, request 60s":                          {"MeshTimeout request" + request, "MeshTimeout stream" + stream},
		"stream 5s, request 0s":                           {"MeshTimeout request" + request, "MeshTimeout stream" + stream},
		"stream 5s, request 60s, try 9s on 5xx":           {try, "MeshTimeout stream" + stream},
		"stream 5s of price, request 60s":                 nil,
		"stream 5s of price, route to price":              nil,
		"stream 5s of price, route to price, request 60s": {"MeshTimeout request" + request, "MeshTimeout stream" + stream},
		"stream 90s":                                      nil,
		"stream 90s, request 1s":                          {"MeshTimeout request" + request, "MeshTimeout stream" + stream},
		"stream 90s, request 60s":                         {"MeshTimeout request" + request, "MeshTimeout stream" + stream},
		"stream 0s, request 60s":                          nil,
		"idle 5s, request 60s":                            {"MeshTimeout idle spec.to[0].default.http.streamIdleTimeout"},
		"idle 5s, request 0s":                             nil,
		"inbound request 3s":                              nil,
		"inbound request 3s, request 60s":                 {byRule, "MeshTimeout request" + request},
		"inbound request 3s, request 0s":                  {byRule, "MeshTimeout request" + request},
		"inbound stream 3s, request 60s":                  {"MeshTimeout inbound spec.from[0].default.http.maxStreamDuration", "MeshTimeout request" + request},
		"inbound request 3s, request 60s, try 9s on 5xx":  {try, byRule},
		"inbound request 3s, retry on 5xx":                nil,   // nobody wrote how long an attempt may take
		"inbound request 3s of weft, try 9s on 5xx":       {try}, // and nothing is said of what came with the mesh
		"inbound till 3s, request 60s":                    nil,
		"inbound request 3s, request 1s":                  nil,
	} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			text := boundsMesh
			for name := range strings.SplitSeq(said, ", ") {
				if boundPolicies[name] == "" {
					t.Fatalf("the table has no %s", name)
				}
				text += "---\n" + boundPolicies[name]
			}
			var got []string
			for _, n := range notes.All(inspecttest.Model(t, text)) {
				if n.Code == "ShadowedTimeout" || n.Code == "IdleBeforeTimeout" {
					got = append(got, fmt.Sprintf("%s %s %s", n.Origin.Ref.Kind, n.Origin.Ref.Name, n.Field))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("%s:\n got %q\nwant %q", said, got, want)
			}
		})
	}
}
