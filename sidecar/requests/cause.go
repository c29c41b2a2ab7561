package requests

import (
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
)

// answered are the details of an answer of who was called.
const answered = "via_upstream"

// flagsOf are the flags of a request as Envoy writes them, the limit of retries first.
func flagsOf(f *accesslogv3.ResponseFlags) string {
	if f == nil {
		return ""
	}
	var out []string
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"URX", f.GetUpstreamRetryLimitExceeded()},
		{"LH", f.GetFailedLocalHealthcheck()}, {"UH", f.GetNoHealthyUpstream()}, {"UT", f.GetUpstreamRequestTimeout()},
		{"LR", f.GetLocalReset()}, {"UR", f.GetUpstreamRemoteReset()}, {"UF", f.GetUpstreamConnectionFailure()},
		{"UC", f.GetUpstreamConnectionTermination()}, {"UO", f.GetUpstreamOverflow()}, {"NR", f.GetNoRouteFound()},
		{"DI", f.GetDelayInjected()}, {"FI", f.GetFaultInjected()}, {"RL", f.GetRateLimited()},
		{"UAEX", f.GetUnauthorizedDetails() != nil}, {"RLSE", f.GetRateLimitServiceError()},
		{"DC", f.GetDownstreamConnectionTermination()}, {"SI", f.GetStreamIdleTimeout()}, {"IH", f.GetInvalidEnvoyRequestHeaders()},
		{"DPE", f.GetDownstreamProtocolError()}, {"UMSDR", f.GetUpstreamMaxStreamDurationReached()},
		{"RFCF", f.GetResponseFromCacheFilter()}, {"NFCF", f.GetNoFilterConfigFound()}, {"DT", f.GetDurationTimeout()},
		{"UPE", f.GetUpstreamProtocolError()}, {"NC", f.GetNoClusterFound()}, {"OM", f.GetOverloadManager()},
		{"DF", f.GetDnsResolutionFailure()}, {"DR", f.GetDownstreamRemoteReset()},
	} {
		if flag.set {
			out = append(out, flag.name)
		}
	}
	return strings.Join(out, ",")
}

// uncounted reports whether no counter of the route has a request, which its sidecar ended by itself
// (spec/telemetry.md 4).
func uncounted(c LineCause, f *accesslogv3.ResponseFlags) bool {
	switch {
	case c.Details == answered:
		return false
	case f.GetNoClusterFound(), f.GetRateLimited(), f.GetFaultInjected(), f.GetUnauthorizedDetails() != nil, f.GetRateLimitServiceError(), f.GetNoRouteFound(), f.GetDownstreamProtocolError():
		return true
	case f.GetDownstreamConnectionTermination(), f.GetDownstreamRemoteReset():
		return c.Status == 0 // else the answer had begun, which counted
	case f.GetStreamIdleTimeout(), f.GetUpstreamMaxStreamDurationReached(), f.GetDurationTimeout():
		return c.Status == 0 || c.Status == 408 || c.Status == 504
	case f.GetNoHealthyUpstream(), f.GetUpstreamConnectionFailure(), f.GetUpstreamOverflow(), f.GetUpstreamRequestTimeout(), f.GetUpstreamRetryLimitExceeded(),
		f.GetUpstreamConnectionTermination(), f.GetUpstreamRemoteReset(), f.GetUpstreamProtocolError(), f.GetDnsResolutionFailure():
		return false
	}
	return true
}

// The details of an answer hold what is told of one connection, such as names of certificates and addresses,
// between brackets. Of that the words stay that say what went wrong.
var (
	// reasons are words in braces, the whole of one part.
	reasons = set("remote_connection_failure", "local_connection_failure", "connection_timeout", "connection_termination", "overflow", "remote_reset",
		"local_reset", "protocol_error", "remote_refused_stream_reset", "local_refused_stream_reset", "http1_premature_upstream_half_close", "delayed_connect_error:_Connection_refused",
		"immediate_connect_error:_Connection_refused", "connect_error", "overload_manager")
	// marks are parts of what an operating system or TLS says.
	marks = []string{"CERTIFICATE_VERIFY_FAILED", "ALERT_HANDSHAKE_FAILURE", "PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_REQUIRED", "WRONG_VERSION_NUMBER",
		"ALERT_CERTIFICATE_EXPIRED", "ALERT_UNKNOWN_CA", "Connection_refused", "Connection_reset_by_peer", "No_route_to_host", "Network_is_unreachable"}
)

func set(words ...string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

// mostWord is the length of a detail that is shown as it is.
const mostWord = 64

// vocabulary is what details say of all requests that end in the same way.
func vocabulary(details string) string {
	at := strings.IndexAny(details, "{[")
	if at < 0 {
		return word(details)
	}
	what, inside := word(details[:at]), details[at:]
	if strings.HasPrefix(inside, "[") {
		if inside == "[none]" {
			return what + inside
		}
		return what // the rest is a name that somebody gave
	}
	inside = strings.Trim(inside, "{}")
	first, rest, _ := strings.Cut(inside, "|")
	if !reasons[first] {
		first = ""
	}
	if tls := strings.Contains(rest, "TLS_error"); tls || rest != "" {
		for _, mark := range marks {
			if strings.Contains(rest, mark) {
				return what + "{" + first + "|" + secure(tls) + mark + "}"
			}
		}
		if tls {
			return what + "{" + first + "|TLS_error}"
		}
	}
	if first == "" {
		return what
	}
	return what + "{" + first + "}"
}

func secure(tls bool) string {
	if tls {
		return "TLS_error:"
	}
	return ""
}

// word is a detail that is one of Envoy's own words; others are what some filter was told to say.
func word(text string) string {
	if len(text) > mostWord {
		return "other"
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' {
			return "other"
		}
	}
	return text
}
