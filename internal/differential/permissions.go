package differential

// permission is a MeshTrafficPermission, on a route in one of two cases: draw.aimed chooses which.
func (d draw) permission(name string) m {
	top := one(d, m{"kind": "Mesh"}, m{"kind": "Dataplane", "labels": m{"who": one(d, "web-1", "v1-1", "v1-1", "v2-1", "bytes-1")}}, m{"kind": "Dataplane", "labels": m{"team": one(d, "a", "b")}},
		m{"kind": "MeshSubset", "tags": m{"version": one(d, "1", "2")}}, m{"kind": "MeshService", "name": one(d, "v1", "v2", "bytes")})
	spec := m{"targetRef": top}
	onRoute := d.chance(5)
	if onRoute {
		spec["targetRef"] = m{"kind": "MeshHTTPRoute", "name": one(d, routeNames...)}
	}
	kuma := top["kind"] != "Dataplane" && !onRoute // whose documents have from
	if kuma && d.chance(5) {
		var from []any
		for range one(d, 1, 1, 2) {
			from = append(from, m{"targetRef": one(d, m{"kind": "Mesh"}, m{"kind": "MeshService", "name": one(d, "client", ops, lone)}, m{"kind": "MeshSubset", "tags": m{"version": one(d, "1", "2")}},
				m{"kind": "MeshServiceSubset", "name": one(d, "client", ops), "tags": m{"version": "1"}}), "default": m{"action": one(d, "Allow", "Deny", "AllowWithShadowDeny")}})
		}
		spec["from"] = from
	}
	if spec["from"] == nil || d.chance(3) {
		var rules []any
		for range one(d, 1, 1, 2) {
			rules = append(rules, m{one(d, "default", "default", "default", "override"): d.lists()})
		}
		spec["rules"] = rules
	}
	out := m{"type": "MeshTrafficPermission", "mesh": "default", "name": name, "spec": spec}
	if d.chance(1) {
		out["labels"] = m{"kuma.io/effect": "shadow"}
	}
	return out
}

// lists are those of a rule; most let somebody in.
func (d draw) lists() m {
	out := m{}
	for _, name := range some(d, 4, "allow", "allowWithShadowDeny", "deny") {
		out[name] = d.callers()
	}
	if len(out) == 0 || out["allow"] == nil && d.chance(7) {
		out["allow"] = d.callers()
	}
	return out
}

func (d draw) callers() []any {
	var out []any
	for range one(d, 1, 1, 2) {
		out = append(out, d.caller())
	}
	return out
}

// caller is a match of an entry of a list.
func (d draw) caller() m {
	out := m{}
	switch d.IntN(6) {
	case 0:
		out["anonymous"] = true
	case 1:
	case 2:
		out["spiffeID"] = m{"type": "Prefix", "value": "spiffe://" + one(d, meshDomain, meshDomain, otherDomain) + one(d, "", "/w", "/w/c", "/cl", "/")}
	default:
		out["spiffeID"] = m{"type": one(d, "Exact", "Prefix"), "value": "spiffe://" + one(d, meshDomain+"/", meshDomain+"/w/", otherDomain+"/w/") + one(d, "client", ops, lone)}
	}
	if len(out) == 0 || d.chance(4) {
		asks := m{}
		for _, part := range some(d, 4, "path", "methods", "headers") {
			switch part {
			case "path":
				asks[part] = one(d, m{"type": "PathPrefix", "value": one(d, "/", "/v1", "/a", "/v1/x", "/b", "/new", "/full")}, m{"type": "Exact", "value": one(d, "/", "/v1", "/a/b", "/a.b", "/v1/x")},
					m{"type": "RegularExpression", "value": one(d, "/v[0-9]+", "/a.*", "/.*")})
			case "methods":
				asks[part] = one(d, []any{"GET"}, []any{"POST", "PUT"}, []any{"GET", "DELETE", "HEAD"})
			case "headers":
				asks[part] = []any{d.header(one(d, headerNames...))}
			}
		}
		if len(asks) == 0 {
			asks["methods"] = []any{"GET"}
		}
		out["http"] = asks
	}
	return out
}
