package differential

// byEdges is a theme: HTTPProxies and RouteGroups on an edge dataplane, to which clients
// come from outside the mesh.
var byEdges = theme{func(d draw) Source { return Source{Documents: d.aimed(d.edgeDocuments())} }, draw.edgePair, requestsPerWorld}

// edgeDocuments are an edge dataplane in the place of the client, those who answer, what is
// served there, and policies.
func (d draw) edgeDocuments() []m {
	gateway := m{"type": "BUILTIN", "listeners": []any{m{"port": 10001}}}
	docs := append([]m{{"type": "Dataplane", "mesh": "default", "name": "client", "networking": m{"address": "127.0.0.1", "gateway": gateway}}}, d.services()...)
	docs = append(docs, d.proxyTree("root")...)
	for _, name := range routeNames[:1+d.IntN(2)] {
		docs = append(docs, d.group(name, groupHost))
	}
	for i := range d.IntN(4) {
		docs = append(docs, d.policy(routeNames[i]))
	}
	return docs
}

// edgePair is a request to one of the hosts, maybe with what only a mesh may say.
func (d draw) edgePair(w *World) Pair {
	p := d.proxyPair(w)
	if d.chance(5) {
		p = d.groupPair(w)
	}
	at := drawnURL(p.Request)
	at.Host = at.Hostname() + ":10001"
	p.Request.URL = at.String()
	for _, h := range some(d, 1, [2]string{"x-forwarded-proto", "https"}, [2]string{"x-envoy-retry-on", "5xx"}, [2]string{"x-envoy-internal", "true"}, [2]string{"x-request-id", "mine"}, [2]string{"referer", "http://u@h/"}) {
		p.Request.Headers.Add(h[0], h[1])
	}
	return p
}
