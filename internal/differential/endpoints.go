package differential

import "fmt"

// endpoints are policies about connections to the endpoints of a world, and about which of them get requests.
func (d draw) endpoints() (out []m) {
	add := func(kind, name string, conf m, inbound m) {
		spec := m{"targetRef": m{"kind": "Mesh"}}
		if conf != nil {
			spec["to"] = []any{m{"targetRef": one(d, m{"kind": "Mesh"}, m{"kind": "MeshService", "name": "web"}), one(d, "default", "default", "override"): conf}}
		}
		if inbound != nil {
			spec["rules"] = []any{m{one(d, "default", "default", "override"): inbound}}
		}
		if conf != nil || inbound != nil {
			out = append(out, m{"type": kind, "mesh": "default", "name": name, "spec": spec})
		}
	}
	panics := d.chance(5) // of two kinds that say it of one cluster one holds
	for i := range d.IntN(4) {
		var inbound m
		if d.chance(5) {
			inbound = d.breaker(true)
		}
		add("MeshCircuitBreaker", fmt.Sprintf("breaker%d", i), d.breaker(panics), inbound)
	}
	for i := range d.IntN(4) {
		add("MeshHealthCheck", fmt.Sprintf("check%d", i), d.check(!panics), nil)
	}
	for i := range d.IntN(4) {
		add("MeshLoadBalancingStrategy", fmt.Sprintf("balance%d", i), d.balance(), nil)
	}
	if d.chance(5) {
		out = append(out, m{"type": "MeshLoadBalancingStrategy", "mesh": "default", "name": "balance-route", "spec": m{
			"targetRef": m{"kind": "MeshHTTPRoute", "name": one(d, routeNames...)},
			"to":        []any{m{"targetRef": m{"kind": "Mesh"}, one(d, "default", "override"): m{"hashPolicies": d.hashes()}}},
		}})
	}
	return out
}

// spread are policies about endpoints that change nothing of what becomes of a request, but for which of several
// endpoints that are alike gets it.
func (d draw) spread() (out []m) {
	add := func(kind, name string, conf m) {
		out = append(out, m{"type": kind, "mesh": "default", "name": name, "spec": m{"targetRef": m{"kind": "Mesh"}, "to": []any{
			m{"targetRef": one(d, m{"kind": "Mesh"}, m{"kind": "MeshService", "name": "web"}), "default": conf}}}})
	}
	if d.chance(4) {
		add("MeshCircuitBreaker", "spread-breaker", d.breaker(false))
	}
	if d.chance(4) {
		add("MeshLoadBalancingStrategy", "spread-balance", one(d,
			m{"loadBalancer": m{"type": one(d, "Random", "LeastRequest", "Maglev")}},
			m{"loadBalancer": m{"type": "RingHash"}, "hashPolicies": []any{m{"type": "Header", "header": m{"name": "x-a"}}}}))
	}
	return out
}

// breaker is a conf under whose limits nothing fails in a test, and for which nobody is left out.
func (d draw) breaker(panics bool) m {
	limits, conf := m{}, m{}
	for _, f := range some(d, 4, "maxConnections", "maxPendingRequests", "maxRequests", "maxRetries", "maxConnectionPools") {
		limits[f] = one(d, 500, 1000, 2000)
	}
	if d.chance(3) {
		limits["retryBudget"] = one(d, m{"budgetPercent": one(d, 50, 100)}, m{"minRetryConcurrency": 500}, m{"budgetPercent": "62.5", "minRetryConcurrency": 600})
	}
	if len(limits) > 0 {
		conf["connectionLimits"] = limits
	}
	outlier := m{"detectors": d.detectors()}
	for _, f := range some(d, 4, "disabled", "interval", "baseEjectionTime", "maxEjectionPercent", "splitExternalAndLocalErrors", "healthyPanicThreshold") {
		switch f {
		case "disabled", "splitExternalAndLocalErrors":
			outlier[f] = d.chance(3) != (f != "disabled")
		case "interval", "baseEjectionTime":
			outlier[f] = one(d, "30s", "1m")
		case "maxEjectionPercent":
			outlier[f] = one(d, 0, 5, 100)
		case "healthyPanicThreshold":
			if panics {
				outlier[f] = one(d, 10, 20)
			}
		}
	}
	if len(limits) == 0 || d.chance(6) {
		conf["outlierDetection"] = outlier
	}
	return conf
}

func (d draw) detectors() m {
	out := m{"totalFailures": m{"consecutive": one(d, 100000, 200000)}}
	for _, f := range some(d, 4, "gatewayFailures", "localOriginFailures", "successRate", "failurePercentage") {
		switch f {
		case "successRate":
			out[f] = one(d, m{"minimumHosts": 500}, m{"requestVolume": 100000}, m{"standardDeviationFactor": "2.5", "minimumHosts": 400})
		case "failurePercentage":
			out[f] = one(d, m{"minimumHosts": 500}, m{"requestVolume": 100000, "threshold": 99})
		default:
			out[f] = m{"consecutive": one(d, 100000, 200000)}
		}
	}
	return out
}

// check is a conf of health checks.
func (d draw) check(panics bool) m {
	conf := m{"timeout": one(d, "1s", "2s")}
	for _, f := range some(d, 4, "interval", "unhealthyThreshold", "healthyThreshold", "initialJitter", "intervalJitter", "intervalJitterPercent", "noTrafficInterval",
		"reuseConnection", "eventLogPath", "alwaysLogHealthCheckFailures", "failTrafficOnPanic", "healthyPanicThreshold") {
		switch f {
		case "interval", "noTrafficInterval":
			conf[f] = one(d, "10m", "20m")
		case "initialJitter", "intervalJitter":
			conf[f] = one(d, "1ms", "2ms")
		case "eventLogPath":
			conf[f] = one(d, "/dev/stdout", "/dev/stderr")
		case "reuseConnection", "alwaysLogHealthCheckFailures", "failTrafficOnPanic":
			conf[f] = d.chance(5)
		case "healthyPanicThreshold":
			if panics {
				conf[f] = one(d, 30, 40)
			}
		default:
			conf[f] = one(d, 2, 3)
		}
	}
	for _, f := range some(d, 6, "http", "tcp", "grpc") {
		conf[f] = d.way(f)
	}
	return conf
}

func (d draw) way(name string) m {
	out := m{}
	if d.chance(3) {
		out["disabled"] = d.chance(5)
	}
	switch name {
	case "http":
		for _, f := range some(d, 5, "path", "expectedStatuses", "requestHeadersToAdd") {
			out[f] = map[string]any{
				"path": one(d, "/health", "/ready"), "expectedStatuses": one(d, []int{200}, []int{200, 404}),
				"requestHeadersToAdd": m{"set": []any{m{"name": "x-check", "value": "a,b%"}}, "add": []any{m{"name": "x-more", "value": "1"}}},
			}[f]
		}
	case "tcp":
		for _, f := range some(d, 4, "send", "receive") {
			out[f] = map[string]any{"send": one(d, "hello", "GET /\r\n"), "receive": []any{one(d, "a", "b")}}[f]
		}
	case "grpc":
		for _, f := range some(d, 5, "serviceName", "authority") {
			out[f] = map[string]any{"serviceName": one(d, "a", "b"), "authority": one(d, "auth-a", "auth-b")}[f]
		}
	}
	return out
}

// balance is a conf of how endpoints are chosen.
func (d draw) balance() m {
	conf, typ := m{}, one(d, "RoundRobin", "LeastRequest", "RingHash", "Random", "Maglev")
	lb := m{"type": typ}
	inner := d.chance(4)
	switch typ {
	case "LeastRequest":
		lb["leastRequest"] = one(d, m{"choiceCount": one(d, 2, 3)}, m{"activeRequestBias": one[any](d, 2, "0.5"), "choiceCount": 4})
	case "RingHash":
		ring := one(d, m{"hashFunction": "MurmurHash2"}, m{"minRingSize": one(d, 8, 16)}, m{"minRingSize": 8, "maxRingSize": one(d, 32, 64)})
		if inner {
			ring["hashPolicies"] = d.hashes()
		}
		lb["ringHash"] = ring
	case "Maglev":
		maglev := m{"tableSize": one(d, 11, 101)}
		if inner {
			maglev["hashPolicies"] = d.hashes()
		}
		lb["maglev"] = maglev
	}
	conf["loadBalancer"] = lb
	if !inner && d.chance(4) {
		conf["hashPolicies"] = d.hashes()
	}
	return conf
}

func (d draw) hashes() []any {
	return append([]any{m{"type": "Header", "header": m{"name": "x-a"}}}, some[any](d, 5, m{"type": "Cookie", "cookie": m{"name": one(d, "sid", "other"), "ttl": "0s", "path": "/"}},
		m{"type": "Connection", "connection": m{"sourceIP": true}}, m{"type": "Cookie", "terminal": true, "cookie": m{"name": "plain"}})...)
}
