package differential

import "maps"

// withDatabase is documents in which the client also calls db, by connections, under
// policies for those. Its requests to web are not concerned.
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
	to := one(d, m{"kind": "Mesh"}, m{"kind": "MeshService", "name": "db"})
	conf := m{"MeshRetry": m{"tcp": m{"maxConnectAttempt": 1 + d.IntN(9)}}, "MeshTimeout": m{"idleTimeout": one(d, "0s", "5m"), "connectionTimeout": "3s"}}
	for _, kind := range some(d, 6, sortedKeys(conf)...) {
		out = append(out, m{"type": kind, "mesh": "default", "name": "bytes", "spec": m{
			"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": to, "default": conf[kind]}},
		}})
	}
	return out
}
