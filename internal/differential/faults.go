package differential

import "fmt"

// certain are faults that all requests meet, or none, so that what happens is no chance.
func (d draw) certain() (out []m) {
	if !d.chance(3) {
		return nil
	}
	return d.faulty(0, 100)
}

// faults are faults of any share.
func (d draw) faults() []m { return d.faulty(0, 1, 50, 100, "2.5", "0.125") }

// faulty are policies that inject faults of those shares, at the side that calls, of a route, and at the side that is
// called.
func (d draw) faulty(shares ...any) (out []m) {
	for i := range 1 + d.IntN(3) {
		onRoute := m{"kind": "MeshHTTPRoute", "name": one(d, routeNames...)}
		top, to := m{"kind": "Mesh"}, one(d, onRoute, onRoute, m{"kind": "MeshService", "name": "web"}, m{"kind": "Mesh"})
		if d.chance(4) {
			top, to = onRoute, m{"kind": "Mesh"}
		}
		spec := m{"targetRef": top, "to": []any{m{"targetRef": to, one(d, "default", "default", "override"): m{"http": d.faultList(shares)}}}}
		if top["kind"] == "Mesh" && d.chance(4) {
			spec[one(d, "rules", "from")] = []any{m{"targetRef": m{"kind": "Mesh"}, one(d, "default", "default", "override"): m{"http": d.faultList(shares)}}}
			if rules, ok := spec["rules"]; ok {
				delete(rules.([]any)[0].(m), "targetRef")
			}
			if d.chance(5) { // so that those who are called differ
				spec["targetRef"] = m{"kind": "MeshSubset", "tags": m{"version": one(d, "1", "2")}}
				delete(spec, "to")
			}
		}
		out = append(out, m{"type": "MeshFaultInjection", "mesh": "default", "name": fmt.Sprintf("fault%d", i), "spec": spec})
	}
	return out
}

// faultList is none, one or several, and now and then more than all connection managers have filters for.
func (d draw) faultList(shares []any) []any {
	out := []any{}
	n := one(d, 0, 1, 1, 2, 3, 5)
	for range n {
		fault := m{}
		for _, part := range some(d, 5, "abort", "delay", "responseBandwidth") {
			fault[part] = m{"percentage": one(d, shares...)}
		}
		if len(fault) == 0 {
			fault["delay"] = m{"percentage": one(d, shares...)}
		}
		if x, ok := fault["abort"].(m); ok {
			x["httpStatus"] = one(d, 200, 418, 500, 503, 599)
		}
		if x, ok := fault["delay"].(m); ok {
			x["value"] = one(d, "1ms", "5ms", "20ms")
		}
		if x, ok := fault["responseBandwidth"].(m); ok {
			x["limit"] = one(d, "8Mbps", "1 Gbps")
		}
		out = append(out, fault)
	}
	return out
}
