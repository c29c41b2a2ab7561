package bootstrap

// What Envoy writes of requests to the agent of its sidecar, by its access log service (docs/traffic.md):
// the block of loggers and the filter that package xds puts into connection managers and routers, and the agent
// that reads them, agree on these names.
const (
	// RequestsFeature is what an agent says among the features of its bootstrap that takes such lines, and says
	// which headers they have. An
	// Envoy without it is given no logger: its bootstrap may lack the cluster, and then it would refuse the
	// listener.
	RequestsFeature = "feature-weft-requests"

	// ErrorsLog, AttemptsLog and TapLog are names of logs: requests that failed; each attempt of those; those
	// that somebody watches.
	ErrorsLog   = "errors"
	AttemptsLog = "attempts"
	TapLog      = "tap"

	// ErrorsRuntime and TapRuntime are runtime keys: of how many of a million there is a line.
	ErrorsRuntime = "weft.errors"
	TapRuntime    = "weft.tap"
	// AllErrors is the value of ErrorsRuntime where the agent has said nothing.
	AllErrors = 1_000_000

	// TableTag, SlotTag and OriginsTag are tags of a line: the virtual host; the number of the route's slot,
	// where its metadata has one; the list of origins that acted, as JSON.
	TableTag   = "table"
	SlotTag    = "slot"
	OriginsTag = "by"

	// TapHeadersFilter is the filter that reads headers while somebody watches, which the agent configures, and
	// TapHeaders is the metadata where it puts them: below the name of one after RequestHeader or AnswerHeader.
	TapHeadersFilter = "weft.tap_headers"
	TapHeaders       = "weft.tap"
	RequestHeader    = "request:"
	AnswerHeader     = "answer:"
)
