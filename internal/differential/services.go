package differential

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// services are web, v1 and v2, and who answers for them: one dataplane or two, in
// one version or two, that speak one protocol or two, and sometimes nobody at all
// behind their sidecars.
func (d draw) services() []m {
	var docs []m
	protocol := one(d, "http", "http", "http2", "grpc")
	for i, name := range []string{"web", "v1", "v2"} {
		docs = append(docs, m{"type": "MeshService", "mesh": "default", "name": name, "spec": m{
			"selector": m{"dataplaneTags": m{"kuma.io/service": name}},
			"ports":    []any{m{"port": 8080, "targetPort": 18080, "appProtocol": protocol}},
		}})
		dead := d.IntN(12) == 0
		spoken := one(d, "http", "http", "tcp", "http2", "grpc")
		for n := range one(d, 1, 1, 2) {
			if n > 0 && d.chance(2) {
				spoken = one(d, "http", "tcp", "http2", "grpc")
			}
			in := inbound(name, one(d, "1", "1", "2"), spoken, 18080)
			if dead {
				in["servicePort"] = deadPort
			}
			docs = append(docs, m{"type": "Dataplane", "mesh": "default", "name": fmt.Sprintf("%s-%d", name, n+1), "networking": m{
				"address": fmt.Sprintf("127.0.1.%d", 10*(i+1)+n), "inbound": []any{in},
			}})
		}
	}
	return docs
}

// Names of headers that a document may change, if route.CheckChangedHeader says so.
var changedHeaders = []string{
	"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-client-cert", "x-kuma-tags", "cookie", "te",
	"content-type", "accept", "user-agent", "via", "authorization", "origin", "grpc-timeout", "x-envoy-original-path",
	"x-envoy-internal", "x-envoy-external-address", "x-envoy-decorator-operation", "x_under", "connection", "upgrade", "content-length",
	"set-cookie", "vary", "location", "server", "date", "age", "cache-control", "traceparent", "http2-settings",
}

// oddChanges changes headers that a document had better leave alone, as far as
// admission lets it.
func (d draw) oddChanges(answer bool) m {
	lists := map[string]route.HeaderChange{"set": route.SetInRequest, "add": route.AddToRequest, "remove": route.RemoveFromRequest}
	if answer {
		lists = map[string]route.HeaderChange{"set": route.SetInAnswer, "add": route.AddToAnswer, "remove": route.RemoveFromAnswer}
	}
	out := m{}
	for _, name := range some(d, 1, changedHeaders...) {
		kind := one(d, "set", "add", "remove")
		h := route.Header{Name: name, Value: one(d, "1", "trailers", "https", "8.8.8.8", "a, b", "50%")}
		if kind == "remove" {
			h.Value = ""
		}
		if route.CheckChangedHeader(api.Path(""), lists[kind], h) != nil {
			continue
		}
		old, _ := out[kind].([]any)
		if kind == "remove" {
			out[kind] = append(old, name)
		} else {
			out[kind] = append(old, m{"name": name, "value": h.Value})
		}
	}
	if len(out) == 0 {
		out["remove"] = []any{"x-nothing"}
	}
	return out
}
