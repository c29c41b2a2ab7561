package differential

import (
	"fmt"
	"maps"
)

// withDatabase is documents in which the client also calls db, by connections, and
// under rare policies.
func (d draw) withDatabase(documents []m) []m {
	out := append([]m{}, documents...)
	for i, doc := range out {
		if doc["type"] == "Dataplane" && doc["name"] == client.Name {
			networking := maps.Clone(doc["networking"].(m))
			calls := m{"port": 10002, "backendRef": m{"kind": "MeshService", "name": "db", "port": 5432}}
			networking["outbound"] = append(append([]any{}, networking["outbound"].([]any)...), calls)
			out[i] = maps.Clone(doc)
			out[i]["networking"] = networking
		}
	}
	in := inbound("db", "1", "tcp", 15432)
	in["servicePort"] = deadPort
	out = append(out, m{"type": "MeshService", "mesh": "default", "name": "db", "spec": m{
		"selector": m{"dataplaneTags": m{"kuma.io/service": "db"}},
		"ports":    []any{m{"port": 5432, "targetPort": 15432, "appProtocol": "tcp"}},
	}}, m{"type": "Dataplane", "mesh": "default", "name": "db-1", "networking": m{"address": "127.0.1.90", "inbound": []any{in}}})
	if d.chance(3) {
		out = append(out, m{"type": "MeshTCPRoute", "mesh": "default", "name": "bytes", "spec": m{
			"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": m{"kind": "MeshService", "name": "db"}, "rules": []any{m{"default": m{
				"backendRefs": []any{m{"kind": "MeshService", "name": "db", "port": 5432}},
			}}}}},
		}})
	}
	return append(out, d.rare()...)
}

// rare are policies of the caller's side with fields that the other tests do not
// draw for it, because their requests would run into them.
func (d draw) rare() []m {
	var out []m
	mesh, web, db := m{"kind": "Mesh"}, m{"kind": "MeshService", "name": "web"}, m{"kind": "MeshService", "name": "db"}
	rate := m{"num": 10000, "interval": "1s"}
	for i, p := range some(d, 5, []struct {
		kind string
		to   m
		conf m
	}{
		{"MeshRetry", one(d, mesh, db), m{"tcp": m{"maxConnectAttempt": 1 + d.IntN(9)}}},
		{"MeshTimeout", db, m{"idleTimeout": one(d, "0s", "5m"), "connectionTimeout": "3s"}},
		{"MeshTimeout", one(d, mesh, web), m{"http": m{"maxStreamDuration": one(d, "0s", "10s"), "maxConnectionDuration": "1h", "requestHeadersTimeout": "5s"}}},
		{"MeshRateLimit", one(d, mesh, db), m{"local": m{"tcp": m{"connectionRate": rate, "disabled": d.chance(3)}}}},
		{"MeshRateLimit", one(d, mesh, web), m{"local": m{"http": m{"requestRate": rate, "onRateLimit": m{"status": 503, "headers": d.headersOfLimit()}}}}},
	}...) {
		out = append(out, m{"type": p.kind, "mesh": "default", "name": fmt.Sprintf("rare%d", i), "spec": m{
			"targetRef": mesh, "to": []any{m{"targetRef": p.to, "default": p.conf}},
		}})
	}
	return out
}
