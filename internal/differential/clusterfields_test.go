package differential

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	sinkv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/health_check/event_sinks/file/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/policies/circuitbreaker"
	"github.com/weftmesh/weft/policies/healthcheck"
	"github.com/weftmesh/weft/policies/loadbalancingstrategy"
	"github.com/weftmesh/weft/sim"
)

// number32 is a number of Envoy's, or what stands there without one.
func number32(n *wrapperspb.UInt32Value, without string) string {
	if n == nil {
		return without
	}
	return fmt.Sprint(n.Value)
}

// acts is the value of a field that has an effect; ok is false where it has none.
func acts(v sim.Policy, name string) (value string, ok bool) {
	here := last(v, name)
	if here == nil || slices.Contains(v.Idle, name) {
		return "", false
	}
	return strings.Trim(plain(here), `"`), true
}

// anyActs reports whether one of the fields has an effect.
func anyActs(v sim.Policy, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { _, ok := acts(v, n); return ok })
}

func thresholds(p envoyPlace) *clusterv3.CircuitBreakers_Thresholds {
	return p.cluster.GetCircuitBreakers().GetThresholds()[0]
}

func outliers(p envoyPlace) *clusterv3.OutlierDetection { return p.cluster.GetOutlierDetection() }

// detectors are the fields by which outlier detection is on.
var detectors = []string{
	"outlierDetection.detectors.totalFailures.consecutive", "outlierDetection.detectors.gatewayFailures.consecutive",
	"outlierDetection.detectors.localOriginFailures.consecutive", "outlierDetection.detectors.successRate.minimumHosts",
	"outlierDetection.detectors.failurePercentage.minimumHosts",
}

// where is a number that stands there where a detector enforces what it finds.
func where(enforcing, n *wrapperspb.UInt32Value) string {
	if enforcing.GetValue() == 0 {
		return unset
	}
	return number32(n, unset)
}

// breakerField is a field of MeshCircuitBreaker of clusters.
func breakerField(name string, there func(envoyPlace) string, without string) field {
	return field{kind: circuitbreaker.Kind.Name, name: name, there: there, without: without}
}

var breakerFields = []field{
	breakerField("connectionLimits.maxConnections", func(p envoyPlace) string { return number32(thresholds(p).MaxConnections, unset) }, "1024"),
	breakerField("connectionLimits.maxPendingRequests", func(p envoyPlace) string { return number32(thresholds(p).MaxPendingRequests, unset) }, "1024"),
	breakerField("connectionLimits.maxRequests", func(p envoyPlace) string { return number32(thresholds(p).MaxRequests, unset) }, "1024"),
	breakerField("connectionLimits.maxConnectionPools", func(p envoyPlace) string { return number32(thresholds(p).MaxConnectionPools, unset) }, unset),
	{kind: circuitbreaker.Kind.Name, name: "connectionLimits.maxRetries", there: func(p envoyPlace) string { return number32(thresholds(p).MaxRetries, unset) }, asWhole: func(v sim.Policy) string {
		if anyActs(v, "connectionLimits.retryBudget.budgetPercent") {
			return unset
		}
		n, _ := acts(v, "connectionLimits.maxRetries")
		return cmp.Or(n, "3")
	}},
	breakerField("connectionLimits.retryBudget.budgetPercent", func(p envoyPlace) string {
		if b := thresholds(p).RetryBudget; b != nil {
			return fmt.Sprint(b.GetBudgetPercent().GetValue())
		}
		return unset
	}, unset),
	breakerField("connectionLimits.retryBudget.minRetryConcurrency", func(p envoyPlace) string {
		return number32(thresholds(p).GetRetryBudget().GetMinRetryConcurrency(), unset)
	}, unset),
	{kind: circuitbreaker.Kind.Name, name: "outlierDetection.disabled", there: func(p envoyPlace) string { return fmt.Sprint(outliers(p) == nil) },
		asWhole: func(v sim.Policy) string { return fmt.Sprint(!anyActs(v, detectors...)) }},
	breakerField("outlierDetection.interval", func(p envoyPlace) string { return duration(outliers(p).GetInterval(), unset) }, unset),
	breakerField("outlierDetection.baseEjectionTime", func(p envoyPlace) string { return duration(outliers(p).GetBaseEjectionTime(), unset) }, unset),
	breakerField("outlierDetection.maxEjectionPercent", func(p envoyPlace) string { return number32(outliers(p).GetMaxEjectionPercent(), unset) }, unset),
	{kind: circuitbreaker.Kind.Name, name: "outlierDetection.splitExternalAndLocalErrors", there: func(p envoyPlace) string { return fmt.Sprint(outliers(p).GetSplitExternalLocalOriginErrors()) },
		asWhole: func(v sim.Policy) string {
			split, _ := acts(v, "outlierDetection.splitExternalAndLocalErrors")
			return cmp.Or(split, "false")
		}},
	breakerField("outlierDetection.healthyPanicThreshold", func(p envoyPlace) string { return panicOf(p, 10, 20) }, unset),
	breakerField(detectors[0], func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingConsecutive_5Xx(), outliers(p).GetConsecutive_5Xx())
	}, unset),
	breakerField(detectors[1], func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingConsecutiveGatewayFailure(), outliers(p).GetConsecutiveGatewayFailure())
	}, unset),
	breakerField(detectors[2], func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingConsecutiveLocalOriginFailure(), outliers(p).GetConsecutiveLocalOriginFailure())
	}, unset),
	breakerField(detectors[3], func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingSuccessRate(), outliers(p).GetSuccessRateMinimumHosts())
	}, unset),
	breakerField("outlierDetection.detectors.successRate.requestVolume", func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingSuccessRate(), outliers(p).GetSuccessRateRequestVolume())
	}, unset),
	{kind: circuitbreaker.Kind.Name, name: "outlierDetection.detectors.successRate.standardDeviationFactor", there: func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingSuccessRate(), outliers(p).GetSuccessRateStdevFactor())
	}, without: unset, as: func(_ sim.Policy, value any) string {
		f, err := strconv.ParseFloat(strings.Trim(plain(value), `"`), 64)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(f * 1000)
	}},
	breakerField(detectors[4], func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingFailurePercentage(), outliers(p).GetFailurePercentageMinimumHosts())
	}, unset),
	breakerField("outlierDetection.detectors.failurePercentage.requestVolume", func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingFailurePercentage(), outliers(p).GetFailurePercentageRequestVolume())
	}, unset),
	breakerField("outlierDetection.detectors.failurePercentage.threshold", func(p envoyPlace) string {
		return where(outliers(p).GetEnforcingFailurePercentage(), outliers(p).GetFailurePercentageThreshold())
	}, unset),
}

// panicOf is the panic threshold of a cluster where it is one of those that a kind says in these worlds.
func panicOf(p envoyPlace, of ...float64) string {
	t := p.cluster.GetCommonLbConfig().GetHealthyPanicThreshold()
	if t == nil || !slices.Contains(of, t.Value) {
		return unset
	}
	return fmt.Sprint(t.Value)
}

func check(p envoyPlace) *corev3.HealthCheck {
	if list := p.cluster.GetHealthChecks(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// probeField is a field of MeshHealthCheck.
func probeField(name string, there func(*corev3.HealthCheck) string) field {
	return field{kind: healthcheck.Kind.Name, name: name, there: func(p envoyPlace) string { return there(check(p)) }, without: unset}
}

// probedBy is a field that says whether a way is taken, where one of fields has an effect.
func probedBy(name string, taken func(*corev3.HealthCheck) bool, fields ...string) field {
	return field{kind: healthcheck.Kind.Name, name: name, there: func(p envoyPlace) string { return fmt.Sprint(!taken(check(p))) },
		asWhole: func(v sim.Policy) string {
			off, said := acts(v, name)
			return fmt.Sprint(!anyActs(v, fields...) && (!said || off == "true"))
		}}
}

func listOf(list []string) string {
	if list == nil {
		return unset
	}
	return plain(list)
}

// headersOf are those of a check that are written by an action, as a document writes them.
func headersOf(c *corev3.HealthCheck, action corev3.HeaderValueOption_HeaderAppendAction) string {
	var out []map[string]string
	for _, h := range c.GetHttpHealthCheck().GetRequestHeadersToAdd() {
		if h.AppendAction == action {
			out = append(out, map[string]string{"name": h.Header.Key, "value": strings.ReplaceAll(h.Header.Value, "%%", "%")})
		}
	}
	if out == nil {
		return unset
	}
	return plain(out)
}

func payloads(list ...*corev3.HealthCheck_Payload) (out []string) {
	for _, p := range list {
		if p != nil {
			b := []byte{}
			fmt.Sscanf(p.GetText(), "%x", &b)
			out = append(out, string(b))
		}
	}
	return out
}

var probeFields = []field{
	probeField("interval", func(c *corev3.HealthCheck) string { return duration(c.GetInterval(), unset) }),
	probeField("timeout", func(c *corev3.HealthCheck) string { return duration(c.GetTimeout(), unset) }),
	probeField("unhealthyThreshold", func(c *corev3.HealthCheck) string { return number32(c.GetUnhealthyThreshold(), unset) }),
	probeField("healthyThreshold", func(c *corev3.HealthCheck) string { return number32(c.GetHealthyThreshold(), unset) }),
	probeField("initialJitter", func(c *corev3.HealthCheck) string { return duration(c.GetInitialJitter(), unset) }),
	probeField("intervalJitter", func(c *corev3.HealthCheck) string { return duration(c.GetIntervalJitter(), unset) }),
	probeField("intervalJitterPercent", func(c *corev3.HealthCheck) string {
		if c.GetIntervalJitterPercent() == 0 {
			return unset
		}
		return fmt.Sprint(c.GetIntervalJitterPercent())
	}),
	probeField("noTrafficInterval", func(c *corev3.HealthCheck) string { return duration(c.GetNoTrafficInterval(), unset) }),
	probeField("reuseConnection", func(c *corev3.HealthCheck) string {
		if c.GetReuseConnection() == nil {
			return unset
		}
		return fmt.Sprint(c.GetReuseConnection().GetValue())
	}),
	probeField("eventLogPath", func(c *corev3.HealthCheck) string {
		s := &sinkv3.HealthCheckEventFileSink{}
		if len(c.GetEventLogger()) == 0 || c.EventLogger[0].GetTypedConfig().UnmarshalTo(s) != nil {
			return unset
		}
		return s.EventLogPath
	}),
	{kind: healthcheck.Kind.Name, name: "alwaysLogHealthCheckFailures", there: func(p envoyPlace) string { return fmt.Sprint(check(p).GetAlwaysLogHealthCheckFailures()) }, without: "false"},
	{kind: healthcheck.Kind.Name, name: "failTrafficOnPanic", there: func(p envoyPlace) string {
		return fmt.Sprint(p.cluster.GetCommonLbConfig().GetZoneAwareLbConfig().GetFailTrafficOnPanic())
	}, without: "false"},
	{kind: healthcheck.Kind.Name, name: "healthyPanicThreshold", there: func(p envoyPlace) string { return panicOf(p, 30, 40) }, without: unset},
	probedBy("http.disabled", func(c *corev3.HealthCheck) bool { return c.GetHttpHealthCheck() != nil }, "http.path"),
	probeField("http.path", func(c *corev3.HealthCheck) string { return cmp.Or(c.GetHttpHealthCheck().GetPath(), unset) }),
	probeField("http.requestHeadersToAdd.set", func(c *corev3.HealthCheck) string {
		return headersOf(c, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD)
	}),
	probeField("http.requestHeadersToAdd.add", func(c *corev3.HealthCheck) string {
		return headersOf(c, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD)
	}),
	probeField("http.expectedStatuses", func(c *corev3.HealthCheck) string {
		var list []int64
		for _, s := range c.GetHttpHealthCheck().GetExpectedStatuses() {
			list = append(list, s.Start)
		}
		if list == nil {
			return unset
		}
		return plain(list)
	}),
	probedBy("tcp.disabled", func(c *corev3.HealthCheck) bool { return c.GetTcpHealthCheck() != nil }, "tcp.send", "tcp.receive"),
	probeField("tcp.send", func(c *corev3.HealthCheck) string {
		return cmp.Or(strings.Join(payloads(c.GetTcpHealthCheck().GetSend()), ""), unset)
	}),
	probeField("tcp.receive", func(c *corev3.HealthCheck) string { return listOf(payloads(c.GetTcpHealthCheck().GetReceive()...)) }),
	probedBy("grpc.disabled", func(c *corev3.HealthCheck) bool { return c.GetGrpcHealthCheck() != nil }, "grpc.serviceName", "grpc.authority"),
	probeField("grpc.serviceName", func(c *corev3.HealthCheck) string { return cmp.Or(c.GetGrpcHealthCheck().GetServiceName(), unset) }),
	probeField("grpc.authority", func(c *corev3.HealthCheck) string {
		if a := c.GetGrpcHealthCheck().GetAuthority(); strings.HasPrefix(a, "auth-") { // else the service's name
			return a
		}
		return unset
	}),
}

// balanceField is a field of MeshLoadBalancingStrategy of clusters.
func balanceField(name string, there func(*clusterv3.Cluster) string, without string) field {
	return field{kind: loadbalancingstrategy.Kind.Name, name: name, there: func(p envoyPlace) string { return there(p.cluster) }, without: without}
}

func number64(n *wrapperspb.UInt64Value) string {
	if n == nil {
		return unset
	}
	return fmt.Sprint(n.Value)
}

// hashed is by what of a request an endpoint is chosen on a route: the names, in their order.
func hashed(p envoyPlace) string {
	var out []string
	for _, h := range p.route.GetRoute().GetHashPolicy() {
		switch x := h.PolicySpecifier.(type) {
		case *routev3.RouteAction_HashPolicy_Header_:
			out = append(out, "Header "+x.Header.HeaderName)
		case *routev3.RouteAction_HashPolicy_Cookie_:
			out = append(out, fmt.Sprintf("Cookie %s %t", x.Cookie.Name, x.Cookie.Ttl != nil))
		case *routev3.RouteAction_HashPolicy_ConnectionProperties_:
			out = append(out, "SourceIP")
		}
	}
	return cmp.Or(strings.Join(out, ", "), unset)
}

// hashSaid is the same by what explain says.
func hashSaid(v sim.Policy) string {
	for _, name := range []string{"hashPolicies", "loadBalancer.ringHash.hashPolicies", "loadBalancer.maglev.hashPolicies"} {
		text, ok := acts(v, name)
		if !ok {
			continue
		}
		var list []loadbalancingstrategy.HashPolicy
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err.Error()
		}
		var out []string
		for _, h := range list {
			switch {
			case h.Header != nil:
				out = append(out, "Header "+h.Header.Name)
			case h.Cookie != nil:
				out = append(out, fmt.Sprintf("Cookie %s %t", h.Cookie.Name, h.Cookie.TTL != nil))
			default:
				out = append(out, "SourceIP")
			}
		}
		return cmp.Or(strings.Join(out, ", "), unset)
	}
	return unset
}

var balanceFields = []field{
	balanceField("loadBalancer.type", func(c *clusterv3.Cluster) string {
		return map[clusterv3.Cluster_LbPolicy]string{
			clusterv3.Cluster_ROUND_ROBIN: "RoundRobin", clusterv3.Cluster_RANDOM: "Random", clusterv3.Cluster_LEAST_REQUEST: "LeastRequest",
			clusterv3.Cluster_RING_HASH: "RingHash", clusterv3.Cluster_MAGLEV: "Maglev",
		}[c.GetLbPolicy()]
	}, "RoundRobin"),
	balanceField("loadBalancer.leastRequest.choiceCount", func(c *clusterv3.Cluster) string {
		return number32(c.GetLeastRequestLbConfig().GetChoiceCount(), unset)
	}, unset),
	balanceField("loadBalancer.leastRequest.activeRequestBias", func(c *clusterv3.Cluster) string {
		if b := c.GetLeastRequestLbConfig().GetActiveRequestBias(); b != nil {
			return fmt.Sprint(b.DefaultValue)
		}
		return unset
	}, unset),
	balanceField("loadBalancer.ringHash.hashFunction", func(c *clusterv3.Cluster) string {
		if c.GetRingHashLbConfig().GetHashFunction() == clusterv3.Cluster_RingHashLbConfig_MURMUR_HASH_2 {
			return "MurmurHash2"
		}
		return unset
	}, unset),
	balanceField("loadBalancer.ringHash.minRingSize", func(c *clusterv3.Cluster) string { return number64(c.GetRingHashLbConfig().GetMinimumRingSize()) }, unset),
	balanceField("loadBalancer.ringHash.maxRingSize", func(c *clusterv3.Cluster) string { return number64(c.GetRingHashLbConfig().GetMaximumRingSize()) }, unset),
	balanceField("loadBalancer.maglev.tableSize", func(c *clusterv3.Cluster) string { return number64(c.GetMaglevLbConfig().GetTableSize()) }, unset),
	{kind: loadbalancingstrategy.Kind.Name, name: "hashPolicies", ofRoute: true, there: hashed, asWhole: hashSaid},
	{kind: loadbalancingstrategy.Kind.Name, name: "loadBalancer.ringHash.hashPolicies", ofRoute: true, there: hashed, asWhole: hashSaid},
	{kind: loadbalancingstrategy.Kind.Name, name: "loadBalancer.maglev.hashPolicies", ofRoute: true, there: hashed, asWhole: hashSaid},
}
