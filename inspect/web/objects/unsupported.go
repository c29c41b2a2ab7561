package objects

import (
	"net/http"

	"github.com/weftmesh/weft/api/unsupported"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// emptyLists are the paths of Kuma's kinds that weft has not (spec/kuma.md 5.4): its
// clients ask for their lists, which are empty.
var emptyLists = map[string]struct {
	kind   string
	global bool
}{
	"zones": {"Zone", true}, "zoneingresses": {"ZoneIngress", true}, "zoneegresses": {"ZoneEgress", true}, globalSecrets: {"GlobalSecret", true},
	"meshproxypatches": {"MeshProxyPatch", false},
	"meshpassthroughs": {"MeshPassthrough", false}, "meshgatewayroutes": {"MeshGatewayRoute", false},
	"traffic-permissions": {"TrafficPermission", false}, "traffic-routes": {"TrafficRoute", false}, "traffic-logs": {"TrafficLog", false},
	"traffic-traces": {"TrafficTrace", false}, "health-checks": {"HealthCheck", false}, "circuit-breakers": {"CircuitBreaker", false},
	"fault-injections": {"FaultInjection", false}, "retries": {"Retry", false}, "timeouts": {"Timeout", false}, "rate-limits": {"RateLimit", false},
	"proxytemplates": {"ProxyTemplate", false}, "external-services": {"ExternalService", false}, "virtual-outbounds": {"VirtualOutbound", false},
	"workloads": {"Workload", false},
}

// globalSecrets are asked for as all that is in a mesh too, with the mesh that a client has chosen.
const globalSecrets = "global-secrets"

// IsUnsupported reports whether a request is for a kind that Kuma has and weft has not.
func (s *Finder) IsUnsupported(r *http.Request) (kind string, ok bool) {
	plural := r.PathValue("plural")
	a, ok := emptyLists[plural]
	if _, has := s.Catalog.ByPlural(plural); !ok || has || a.global && r.PathValue("mesh") != "" && plural != globalSecrets {
		return "", false
	}
	return a.kind, true
}

// Nothing is an empty list.
func Nothing(w http.ResponseWriter) error {
	httpapi.Answer(w, http.StatusOK, httpapi.Page[endpoint.Document]{Items: []endpoint.Document{}})
	return nil
}

// withoutType is the answer about an object of a type that is not there: what
// `weft apply` says where it would be written.
func (s *Finder) withoutType(r *http.Request) error {
	kind, ok := s.IsUnsupported(r)
	switch {
	case !ok:
		return s.NotFound(r)
	case r.Method == http.MethodPut:
		return httpapi.BadField("type", unsupported.Message(kind))
	}
	return httpapi.NotFound()
}
