package differential

// byMixtures draws meshes in which all languages stand side by side, some of them about
// the same service or host, and requests to all of these.
var byMixtures = theme{func(d draw) Source { return Source{Documents: d.aimed(d.mixture())} }, draw.mixedPair, requestsPerWorld}

// mixture are the documents of byGateway, whose client calls hosts too, with HTTPProxies,
// RouteGroups and a Gateway; the policies are about routes of one of the languages.
func (d draw) mixture() []m {
	kind := one(d, "MeshHTTPRoute", "HTTPRoute", "HTTPProxy", "RouteGroup")
	var docs []m
	for _, doc := range d.gatewayDocuments() {
		switch doc["type"] {
		case "Dataplane":
			if networking := doc["networking"].(m); doc["name"] == "client" {
				networking["outbound"] = append(networking["outbound"].([]any), m{"port": 10002, "hosts": m{"port": 80}})
			}
		case "MeshRetry", "MeshTimeout", "MeshRateLimit":
			for _, other := range []string{"HTTPRoute", "GRPCRoute", "MeshHTTPRoute"} {
				doc = replaced(doc, other, kind).(m)
			}
		}
		docs = append(docs, doc)
	}
	docs = append(docs, d.proxyTree(routeNames[0])...)
	docs = append(docs, d.group(routeNames[0], groupHost))
	if d.chance(5) {
		docs = append(docs, d.group(routeNames[1], one(d, groupHost, proxyHost)))
	}
	if d.chance(5) {
		docs = append(docs, d.atListeners("HTTPRoute", "at-all", "at-some")...)
	}
	return docs
}

func (d draw) mixedPair(w *World) Pair {
	switch d.IntN(4) {
	case 0:
		return d.proxyPair(w)
	case 1:
		return d.groupPair(w)
	case 2:
		if w.calls("a.example.org") {
			return d.listenerPair(w)
		}
	}
	return d.gatewayPair(w)
}
