package policies

// EndWords say in words why Envoy ended a request by itself (spec/telemetry.md 4).
type EndWords string

// Those of which policies are the reason.
const (
	EndPermission        EndWords = "permission"
	EndRateLimit         EndWords = "rate limit"
	EndPerTryTimeout     EndWords = "per-try timeout"
	EndAllRetries        EndWords = "all retries used"
	EndRequestTimeout    EndWords = "request timeout"
	EndConnectionTimeout EndWords = "connection timeout"
	EndStreamIdle        EndWords = "stream idle timeout"
	EndMaxDuration       EndWords = "maximum duration"
	EndFault             EndWords = "injected fault"
	EndDelay             EndWords = "injected delay"
)
