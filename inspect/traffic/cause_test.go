package traffic_test

import (
	"testing"

	"github.com/weftmesh/weft/inspect/traffic"
)

// TestWords is that flags and details are told in words, and what is not known as it is.
func TestWords(t *testing.T) {
	for _, c := range []struct{ flags, details, want string }{
		{"UH", "no_healthy_upstream", "nobody to send to"},
		{"URX,UT", "upstream_per_try_timeout", "per-try timeout"},
		{"UT", "response_timeout", "request timeout"},
		{"UF", "TLS_error", "TLS handshake failed"},
		{"URX", "via_upstream", "all retries used"},
		{"", "via_upstream", "answered by the service"},
		{"", "rbac_access_denied_matched_policy[none]", "permission"},
		{"XX", "something_new", "XX something_new"},
		{"", "", "others"},
	} {
		if got := (traffic.RequestCause{Flags: c.flags, Details: c.details}).Words(); got != c.want {
			t.Errorf("%s %s is %q, want %q", c.flags, c.details, got, c.want)
		}
	}
}
