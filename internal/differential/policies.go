package differential

// policy is one that reaches web or a route of it.
func (d draw) policy(name string) m {
	onRoute := m{"kind": "MeshHTTPRoute", "name": one(d, routeNames...)}
	top, to := m{"kind": "Mesh"}, m{"kind": "Mesh"}
	cluster := false
	switch d.IntN(4) {
	case 0:
		top = onRoute
	case 1:
		to = onRoute
	case 2:
		to, cluster = m{"kind": "MeshService", "name": "web"}, true
	}
	kind, conf := "", m{}
	switch d.IntN(3) {
	case 0:
		kind, conf = "MeshRetry", d.retry()
	case 1:
		kind, conf = "MeshTimeout", d.timeout(cluster)
	case 2:
		kind, conf = "MeshRateLimit", d.limit()
	}
	spec := m{"targetRef": top, "to": []any{m{"targetRef": to, one(d, "default", "default", "override"): conf}}}
	if top["kind"] == "Mesh" && kind != "MeshRetry" && d.chance(5) {
		spec["from"] = []any{m{"targetRef": m{"kind": "Mesh"}, one(d, "default", "default", "override"): d.inbound(kind)}}
		if d.chance(3) { // so that those who are called differ
			spec["targetRef"] = m{"kind": "MeshSubset", "tags": m{"version": one(d, "1", "2")}}
			delete(spec, "to")
		}
	}
	return m{"type": kind, "mesh": "default", "name": name, "spec": spec}
}

// inbound is a conf for the side that is called, where every field is allowed.
func (d draw) inbound(kind string) m {
	if kind == "MeshTimeout" {
		conf := d.timeout(true)
		for _, f := range some(d, 5, "maxStreamDuration", "maxConnectionDuration", "requestHeadersTimeout") {
			conf["http"].(m)[f] = one(d, "0s", "10s")
		}
		return conf
	}
	conf := d.limit()
	if d.chance(5) {
		conf["local"].(m)["tcp"] = m{"connectionRate": m{"num": 10000, "interval": "1s"}, "disabled": d.chance(2)}
	}
	if d.chance(5) {
		conf["local"].(m)["http"].(m)["onRateLimit"] = m{"status": one(d, 429, 503), "headers": d.headersOfLimit()}
	}
	return conf
}

func (d draw) headersOfLimit() m {
	return m{"set": []any{m{"name": "x-limit", "value": "a,b%"}}, "add": []any{m{"name": "x-more", "value": "1"}}}
}

func (d draw) retry() m {
	http := m{}
	for _, f := range some(d, 6, "numRetries", "retryOn", "perTryTimeout", "backOff", "retriableResponseHeaders", "retriableRequestHeaders",
		"rateLimitedBackOff", "hostSelection", "hostSelectionMaxAttempts") {
		switch f {
		case "numRetries":
			http[f] = d.IntN(4)
		case "retryOn":
			http[f] = append([]string{one(d, "5xx", "Reset", "503", "GatewayError", "HttpMethodGet")},
				some(d, 2, "GatewayError", "ResetBeforeRequest", "Retriable4xx", "ConnectFailure", "RefusedStream", "EnvoyRatelimited", "HttpMethodGet", "HttpMethodPost", "418")...)
		case "perTryTimeout":
			http[f] = one(d, "0s", "15s", "800ms")
		case "backOff":
			http[f] = one(d, m{"baseInterval": "10ms"}, m{"maxInterval": "5ms"}, m{"baseInterval": "5ms", "maxInterval": "10ms"})
		case "rateLimitedBackOff":
			http[f] = d.asked()
		case "hostSelection":
			http[f] = one(d, []any{m{"predicate": "OmitPreviousHosts"}}, []any{m{"predicate": "OmitPreviousPriorities", "updateFrequency": 3}},
				[]any{m{"predicate": "OmitPreviousHosts"}, m{"predicate": "OmitHostsWithTags", "tags": m{"version": "7"}}})
		case "hostSelectionMaxAttempts":
			http[f] = one(d, 1, 5)
		case "retriableResponseHeaders":
			if d.chance(6) {
				http[f] = []any{d.header("x-back")}
			}
		case "retriableRequestHeaders":
			if d.chance(6) {
				http[f] = []any{d.header("x-a")}
			}
		}
	}
	grpc := m{"numRetries": d.IntN(4)}
	if d.chance(5) {
		grpc["retryOn"] = append([]string{"Unavailable"}, some(d, 3, "Canceled", "DeadlineExceeded", "Internal", "ResourceExhausted")...)
	}
	for _, f := range some(d, 4, "perTryTimeout", "backOff", "rateLimitedBackOff") {
		switch f {
		case "perTryTimeout":
			grpc[f] = one(d, "15s", "800ms")
		case "backOff":
			grpc[f] = m{"baseInterval": "5ms", "maxInterval": one(d, "10ms", "5ms")}
		case "rateLimitedBackOff":
			grpc[f] = d.asked()
		}
	}
	if len(http) == 0 {
		return m{"grpc": grpc}
	}
	return one(d, m{"http": http}, m{"http": http, "grpc": grpc})
}

// asked is a pause that answers may ask for; those of the tests do not.
func (d draw) asked() m {
	return m{"maxInterval": one(d, "1s", "10s"), "resetHeaders": append([]any{m{"name": "retry-after", "format": one(d, "Seconds", "UnixTimestamp")}},
		some[any](d, 3, m{"name": "x-reset", "format": "Seconds"})...)}
}

// timeout has fields of clusters only where it targets no route.
func (d draw) timeout(cluster bool) m {
	http := m{"requestTimeout": one(d, "0s", "1s", "20s")}
	if d.chance(3) {
		http["streamIdleTimeout"] = one(d, "1s", "1m")
	}
	if !cluster {
		return m{"http": http}
	}
	return m{"connectionTimeout": "10s", "idleTimeout": "1h", "http": http}
}

// limit never runs dry in a test: what an empty bucket does has a test of its own.
func (d draw) limit() m {
	return m{"local": m{"http": m{
		"requestRate": m{"num": 10000, "interval": one(d, "1s", "1h")},
		"disabled":    d.chance(1),
	}}}
}
