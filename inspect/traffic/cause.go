package traffic

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/policies"
)

// causeWords are words for why a request ended as it did, by a response flag of Envoy's access logs and
// the beginning of the details; empty stands for any. The first that fits holds (spec/telemetry.md 4).
var causeWords = []struct {
	flag, details string
	words         policies.EndWords
}{
	{"", "rbac_access_denied", policies.EndPermission},
	{"RL", "", policies.EndRateLimit},
	{"UAEX", "ext_authz_denied", "refused by the authorization service"},
	{"UAEX", "", "authorization service not reached"},
	{"FI", "", "injected fault"},
	{"UO", "retry_overflow", "too many retries at once"},
	{"UO", "", "circuit breaker"},
	{"UT", "upstream_per_try_timeout", policies.EndPerTryTimeout},
	{"UT", "", policies.EndRequestTimeout},
	{"UMSDR", "", policies.EndMaxDuration},
	{"SI", "", policies.EndStreamIdle},
	{"", "max_duration_timeout", policies.EndMaxDuration},
	{"UH", "", "nobody to send to"},
	{"UF", "tls_error", "TLS handshake failed"},
	{"UF", "connection_timeout", policies.EndConnectionTimeout},
	{"UF", "", "connection refused"},
	{"UC", "", "connection closed by the service"},
	{"UR", "", "reset by the service"},
	{"UPE", "", "protocol error"},
	{"NC", "", "no such backend"},
	{"NR", "", "no route"},
	{"", "route_not_found", "no route"},
	{"DC", "", "the client went away"},
	{"DR", "", "the caller's sidecar gave up"},
	{"DI", "", "injected delay"},
	{"DPE", "http1.headers_too_large", "headers too large"},
	{"DPE", "", "no HTTP"},
	{"", "request_payload_too_large", "request too large"},
	{"", "upgrade_failed", "upgrade refused"},
	{"", "path_normalization_failed", "path refused"},
	{"", "missing_host_header", "no host"},
	{"", "direct_response", "answered by the route"},
	{"", "request_header_timeout", "headers too slow"},
	{"", "overload", "the sidecar is overloaded"},
	{"URX", "", policies.EndAllRetries},
	{"", "via_upstream", "answered by the service"},
}

// Words are those for the cause; where there are none, what Envoy says, or the status.
func (c RequestCause) Words() string {
	flags := strings.Split(c.Flags, ",")
	for _, w := range causeWords {
		if (w.flag == "" || slices.Contains(flags, w.flag)) && strings.HasPrefix(strings.ToLower(c.Details), w.details) {
			return string(w.words)
		}
	}
	if text := strings.TrimSpace(c.Flags + " " + c.Details); text != "" {
		return text
	}
	return "others"
}
