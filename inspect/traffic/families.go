package traffic

// Family is one metric that totals have.
type Family struct {
	Name, Type, Help string
	Labels           []string
}

// Classes are the values of the label class: how requests ended.
const (
	ClassOK     = "ok"     // with any other status
	ClassFailed = "failed" // with 5xx
	ClassDenied = "denied" // with 401, 403 or 429
)

// The metrics that totals have. Names and labels are a contract (spec/telemetry.md 5).
var (
	RequestsFamily = Family{"weft_requests_total", "counter",
		"Requests that ended, as the sidecars of who called counted them, by how they ended: class is failed for 5xx, denied for 401, 403 and 429, ok for all else. What a sidecar ended by itself is estimated from sampled lines where many requests fail at once.",
		[]string{"mesh", "caller", "to", "route", "rule", "class"}}
	SecondsFamily = Family{"weft_request_seconds", "histogram",
		"How long requests took, in eight classes; there is no sum, since nobody knows one. Of requests that failed the class is estimated from sampled lines where many fail at once.",
		[]string{"mesh", "caller", "to", "route", "rule"}}
	RetriesFamily = Family{"weft_retries_total", "counter", "Attempts beyond the first of a request.", []string{"mesh", "caller", "to", "route", "rule"}}
	CausesFamily  = Family{"weft_request_causes_total", "counter",
		"Requests that ended without an answer of who was called: flag is what Envoy says in access logs, cause the same in words. Estimated from sampled lines where many requests fail at once.",
		[]string{"mesh", "caller", "to", "route", "flag", "cause"}}
	ApartFamily  = Family{"weft_request_series", "gauge", "Rules and causes that are kept apart here, at most 20000 of either; each rule is thirteen lines of this answer.", nil}
	SummedFamily = Family{"weft_request_series_others_total", "counter", "Rules and causes that found no room, or gave theirs to others while nothing was counted of them, and are counted in the series whose labels are others: each once, up to 65536.", nil}
)

// Families are all of them, in the order in which they are told.
var Families = []Family{RequestsFamily, SecondsFamily, RetriesFamily, CausesFamily, ApartFamily, SummedFamily}
