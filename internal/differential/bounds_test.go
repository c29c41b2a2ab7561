package differential

import (
	"fmt"
	"maps"
	"sort"
	"strings"
	"testing"

	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// spokenWorlds are a world for each way in which requests go on to those who are called.
func spokenWorlds() map[string]Source {
	out := map[string]Source{}
	for name, of := range map[string]struct {
		service string
		inbound []string
	}{
		"bytes":  {"http", []string{"tcp"}},
		"http":   {"http", []string{"http"}},
		"mixed":  {"http", []string{"http", "tcp"}},
		"http2":  {"http2", []string{"http2"}},
		"grpc":   {"grpc", []string{"grpc"}},
		"bytes2": {"http2", []string{"tcp"}},
	} {
		from := plainWorld(m{"type": "MeshHTTPRoute", "mesh": "default", "name": "filters", "spec": m{
			"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": m{"kind": "MeshService", "name": "web"}, "rules": []any{
				m{"matches": []any{m{"path": m{"type": "PathPrefix", "value": "/rewritten"}}}, "default": m{"filters": []any{
					m{"type": "URLRewrite", "urlRewrite": m{"hostname": "a.host.elsewhere", "path": m{"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}},
				}}},
				m{"matches": []any{m{"path": m{"type": "PathPrefix", "value": "/changed"}}}, "default": m{"filters": []any{
					m{"type": "RequestHeaderModifier", "requestHeaderModifier": m{
						"remove": []any{"x-request-id"}, "add": []any{m{"name": "x-added", "value": strings.Repeat("v", 100)}},
						"set": []any{m{"name": "x-forwarded-proto", "value": "other"}},
					}},
				}}},
			}}},
		}}, m{"type": "MeshTimeout", "mesh": "default", "name": "slow", "spec": m{
			"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": m{"kind": "Mesh"}, "default": m{"http": m{"requestTimeout": "12s"}}}},
		}})
		for _, doc := range from.Documents {
			switch doc["name"] {
			case "web":
				doc["spec"].(m)["ports"].([]any)[0].(m)["appProtocol"] = of.service
			case "web-1":
				doc["networking"].(m)["inbound"] = []any{inbound("web", "1", of.inbound[0], 18080)}
			}
		}
		if len(of.inbound) > 1 {
			from.Documents = append(from.Documents, m{"type": "Dataplane", "mesh": "default", "name": "web-2", "networking": m{
				"address": "127.0.1.11", "inbound": []any{inbound("web", "1", of.inbound[1], 18080)},
			}})
		}
		out[name] = from
	}
	return out
}

// growing are requests that grow by one header or byte with n.
func growing() map[string]func(n int) Pair {
	with := func(h wire.Headers, more wire.Headers) wire.Headers { maps.Copy(h, more); return h }
	lines := func(name string, n int) wire.Headers {
		return wire.Headers{name: strings.TrimSuffix(strings.Repeat("1\n", min(n, 150)), "\n")}
	}
	long := func(n int) wire.Headers { return wire.Headers{"x-long": strings.Repeat("l", n)} }
	ask := func(method, path string, h wire.Headers) Pair {
		return Pair{Request: wire.Request{Method: method, URL: "http://web:8080" + path, Headers: h}}
	}
	socket := wire.Headers{"connection": "keep-alive, Upgrade", "upgrade": "websocket"}
	return map[string]func(n int) Pair{
		"one long line":     func(n int) Pair { return ask("GET", "/", long(n)) },
		"many lines":        func(n int) Pair { return ask("GET", "/", lines("x-many", n)) },
		"joined lines":      func(n int) Pair { return ask("GET", "/", with(lines("accept", 80), long(n))) },
		"many beside one":   func(n int) Pair { return ask("GET", "/", with(lines("accept", 80), lines("x-many", n))) },
		"cookies":           func(n int) Pair { return ask("GET", "/", lines("cookie", n)) },
		"empty cookies":     func(n int) Pair { return ask("GET", "/", wire.Headers{"cookie": strings.Repeat("\n", min(n, 150))}) },
		"cookies and bytes": func(n int) Pair { return ask("GET", "/", with(lines("cookie", 7), long(n))) },
		"long path":         func(n int) Pair { return ask("GET", "/"+strings.Repeat("p", n), wire.Headers{}) },
		"rewritten":         func(n int) Pair { return ask("GET", "/rewritten/a?q=1", long(n)) },
		"rewritten, lines":  func(n int) Pair { return ask("GET", "/rewritten/a?q=1", lines("x-many", n)) },
		"changed":           func(n int) Pair { return ask("GET", "/changed", long(n)) },
		"changed, lines":    func(n int) Pair { return ask("GET", "/changed", lines("x-many", n)) },
		"inside": func(n int) Pair {
			return ask("GET", "/", with(long(n), wire.Headers{"x-forwarded-for": "::1", "x-envoy-ip-tags": "a"}))
		},
		"of one hop":        func(n int) Pair { return ask("GET", "/", with(long(n), wire.Headers{"x-envoy-max-retries": "100"})) },
		"post without body": func(n int) Pair { return ask("POST", "/", long(n)) },
		"options":           func(n int) Pair { return ask("OPTIONS", "/", long(n)) },
		"delete":            func(n int) Pair { return ask("DELETE", "/", long(n)) },
		"body": func(n int) Pair {
			p := ask("POST", "/", long(n))
			p.Request.Body = 10
			return p
		},
		"chunks": func(n int) Pair {
			p := ask("POST", "/", long(n))
			p.Request.Body, p.Chunked = 10, true
			return p
		},
		"gRPC": func(n int) Pair {
			return ask("POST", "/", with(long(n), wire.Headers{"content-type": "application/grpc"}))
		},
		"WebSocket":        func(n int) Pair { return ask("GET", "/", with(long(n), socket)) },
		"WebSocket, lines": func(n int) Pair { return ask("GET", "/", with(lines("x-many", n), socket)) },
		"no method":        func(n int) Pair { return ask("FOO", "/", long(n)) },
		"no coding":        func(n int) Pair { return ask("POST", "/", with(long(n), wire.Headers{"transfer-encoding": "gzip"})) },
		"no length": func(n int) Pair {
			return ask("POST", "/", with(lines("x-many", n), wire.Headers{"content-length": "x"}))
		},
	}
}

// largest is more than any request of growing needs to be refused.
const largest = 62_000

// TestHeadersAtTheBounds: what a sidecar, the caller's or the one that is called, takes of
// headers is known to the byte.
func TestHeadersAtTheBounds(t *testing.T) {
	t.Parallel()
	names, worlds := []string{}, []Source{}
	for name, from := range spokenWorlds() {
		names, worlds = append(names, name), append(worlds, from)
	}
	f := newFleet(t, newRoom(t, workloadNames...), worlds)
	asked := 0
	for i, world := range names {
		for what, grow := range growing() {
			for _, version := range []string{"1.1", "2", "1.0"} {
				at := func(n int) Pair {
					p := grow(n)
					p.Source, p.Request.Version = worlds[i], version
					if world != "mixed" { // what comes in time is not known there
						p.Request.Answers = "200"
					}
					if version == "2" {
						p.Chunked = false
					}
					return p
				}
				class := func(n int) string { return f.class(i, at(n)) }
				first := class(0)
				for n := 0; class(largest) != first && class(n) != class(largest); {
					now := class(n)
					n += sort.Search(largest-n, func(by int) bool { return class(n+by) != now })
					for _, size := range []int{n - 1, n} {
						asked++
						if said := f.hold(i, at(size), NewGrid()); said != "" {
							t.Errorf("%s, HTTP/%s, %s, %d, %s: %s", world, version, what, size, class(size), said)
						}
					}
				}
			}
		}
	}
	if asked < 300 {
		t.Errorf("%d requests at bounds, which are too few", asked)
	}
}

// class is what is decided about p by its size.
func (f *fleet) class(n int, p Pair) string {
	v, err := sim.Run(f.worlds[n], client, p.sent("12345678").Request)
	if err != nil {
		return "no request"
	}
	b := v.Branches[0]
	text := fmt.Sprint(b.Outcome, b.Status, announced(&v))
	for _, x := range b.Backends {
		for _, in := range x.Inbounds {
			text += fmt.Sprint(" ", in.Outcome, in.Status)
		}
	}
	return text
}
