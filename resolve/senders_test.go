package resolve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// Two dataplanes send to one cluster, the first of them connections alone: what a policy does
// for requests there is told of the second, where nobody asks for the dataplanes too.
func TestAClusterForConnectionsAndForRequests(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	objects, err := decode.Objects(c.catalog, "docs", []byte(`
{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.1, inbound: [{port: 8080, tags: {kuma.io/service: a}}], outbound: [{port: 9000, tags: {kuma.io/service: db}}]}}
---
{type: Dataplane, mesh: default, name: b, networking: {address: 127.0.0.2, inbound: [{port: 8080, tags: {kuma.io/service: b}}], outbound: [{port: 9000, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: web, networking: {address: 127.0.0.3, inbound: [{port: 8080, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
---
{type: Dataplane, mesh: default, name: backend, networking: {address: 127.0.0.4, inbound: [{port: 8080, tags: {kuma.io/service: backend, kuma.io/protocol: http}}]}}
---
{type: Dataplane, mesh: default, name: db, networking: {address: 127.0.0.5, inbound: [{port: 8080, tags: {kuma.io/service: db, kuma.io/protocol: tcp}}]}}
---
{type: MeshTCPRoute, mesh: default, name: a, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: db}, rules: [{default: {backendRefs: [{kind: MeshService, name: backend}]}}]}]}}
---
{type: MeshHTTPRoute, mesh: default, name: b, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /}}], default: {backendRefs: [{kind: MeshService, name: backend}]}}]}]}}
---
{type: MeshTimeout, mesh: default, name: idle, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: backend}, default: {http: {maxStreamDuration: 7s}}}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	model, _ := resolve.Compile(snapshot.New(1, objects...), c.dialects, c.kinds)
	q, policy := model.Reader(nil), api.Ref{Kind: "MeshTimeout", Mesh: "default", Name: "idle"}
	var on []string
	told := q.ImpactOf("default", []api.Ref{policy}, func(_, _ int, r *effective.Resolved, _ impact.Presence) { on = append(on, r.Ref.Name) })[0]
	if diff := cmp.Diff([]string{"a", "b"}, on); diff != "" || told.Entries[0].State() != effective.Holds {
		t.Errorf("it holds on b: %s%v", diff, became(told))
	}
	if diff := cmp.Diff(became(told), became(q.ImpactOf("default", []api.Ref{policy}, nil)[0])); diff != "" {
		t.Errorf("on its dataplanes (-) and at its places alone (+):\n%s", diff)
	}
}
