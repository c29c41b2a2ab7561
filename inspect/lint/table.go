package lint

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// CodeInfo is a code, and what it stands for. The documentation page is made of them.
type CodeInfo struct {
	Code string
	// Severity is that of findings that rules of this package make; those of others bring theirs.
	Severity api.Severity
	Title    string // what is found
	About    string // why it matters
	Do       string // what to do
	find     func(*view) []*api.Violation
}

// table are all codes, sorted. Those without a function are found where documents are decoded
// and resolved.
var table = sorted(own, general, ofTelemetry, ofEndpoints, ofFaults, ofGateway, ofHTTPProxy, ofRouteGroup, ofConvert, ofIdentities, ofTenants)

func sorted(parts ...[]CodeInfo) []CodeInfo {
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b CodeInfo) int { return strings.Compare(a.Code, b.Code) })
	return all
}

// Rules are all codes, sorted.
func Rules() []CodeInfo { return slices.Clone(table) }

// Lookup is what a code stands for.
func Lookup(code string) (CodeInfo, bool) {
	i, ok := slices.BinarySearchFunc(table, code, func(r CodeInfo, code string) int { return strings.Compare(r.Code, code) })
	if !ok {
		return CodeInfo{}, false
	}
	return table[i], true
}

// HelpAt is where the documentation says more about a code.
func HelpAt(code string) string {
	return "https://github.com/weftmesh/weft/blob/main/docs/lint.md#" + strings.ToLower(code)
}

// own are the codes of the rules of this package.
var own = []CodeInfo{
	{"AttemptsOutlastTimeout", api.Warning, "Attempts take longer than the request may",
		"`numRetries` and one more attempts of `perTryTimeout` each are more than `http.requestTimeout`, which ends the request: the last attempts never happen, or never end.",
		"Make attempts fewer or shorter, or the request timeout longer. `weft simulate --answers` shows each attempt.", attemptsOutlastTimeout},
	{"CallersNotSelected", api.Warning, "Nobody who is selected calls that",
		"The dataplanes that spec.targetRef selects call nothing of what an entry of `to`, or the route, is about, so that it acts nowhere. As a rule the server was named where those who call it belong.",
		"Name those who call in `spec.targetRef`, or, for what comes in at the server itself, write `rules` in place of `to`. `weft explain policy` shows where an entry acts.", nil},
	{"ClassicNameTaken", api.Warning, "A service takes the name of a classic one, without its port",
		"Where traffic is redirected, a service that only the tag `kuma.io/service` names is called by `<service>.mesh` at port 80. A MeshService of that name takes it over: calls to port 80 fail where the MeshService has other ports alone.",
		"Give the MeshService a port 80 too, or let clients call one that it has.", classicNameTaken},
	{"FromIsOlder", api.Info, "A policy has `from`",
		"Kuma reads `from` as an older form of `rules`, and may let go of it.", "Write `rules`.", olderForm},
	{"IdleBeforeTimeout", api.Warning, "A silent request ends before its timeout",
		"`http.streamIdleTimeout` is shorter than `http.requestTimeout`: a request during which no byte moves, as while a service computes, ends at the shorter of both.",
		"Make the idle timeout at least as long as the request timeout, or the request timeout shorter.", nil},
	{"ImpliedRetries", api.Info, "`retryOn` repeats more than it says",
		"A list of status numbers and methods without a word keeps the words of the default beside them (`GatewayError`, `ConnectFailure`, `RefusedStream`), so that `[\"503\"]` also repeats 502 and 504, refused connections, resets and attempts that `perTryTimeout` ends.",
		"Add `RetriableStatusCodes` to repeat the numbers alone, or write the words that are meant. `weft explain` shows what Envoy repeats.", impliedRetries},
	{"InlineOverridden", api.Info, "A policy says otherwise what a route says of itself",
		"Policies that are attached to a route or a rule count more than fields of the route.", "Remove the field, unless it is meant for when the policy is gone.", nil},
	{"LimitPerInstance", api.Info, "A rate limit holds for each instance by itself",
		"A local rate limit is counted by each dataplane. Of several, each admits the whole rate.", "Write the share of one instance, and remember it when the number of instances changes.", limitPerInstance},
	{"LogsNothing", api.Info, "A route takes away the lines that operators want",
		"An empty list of `backends` that counts more stands in the place of one that the operators of the mesh wrote, so that no line of these requests is written.",
		"Remove the empty list, or let operators write theirs as `override`, over which nothing counts.", logsNothing},
	{"Overridden", api.Warning, "Others say all of it otherwise",
		"Every field of the entry is said by another policy that counts more, wherever it applies, so that it has no effect.",
		"Remove it, or say it where it counts more: `weft explain policy` shows who holds.", inVain},
	{"RouteOnSome", api.Info, "A policy is on a route that some dataplanes lack",
		"An entry of `to` names a route, and holds where spec.targetRef selects a dataplane that has it. Some of those which are selected call the same destination without that route, and have nothing of the policy.",
		"Name the route in `spec.targetRef`, with `to: [{targetRef: {kind: Mesh}}]`: the policy then follows it wherever it is.", onSome},
	{"RuleUnmet", api.Warning, "No request meets a rule",
		"What a match or an entry of a permission asks for is in no request as proxies read it: paths are decoded, end before the query and have no dot segments, expressions match the whole path, queries are compared encoded, values of headers have no spaces around them; or its conditions contradict each other. A `deny` that never holds is refused, since nothing would be denied.",
		"Write what the message proposes: values as requests have them when they are matched.", nil},
	{"RuleUnserved", api.Warning, "Every request of a rule fails",
		"The rule has no backend, or none with a weight, so that there is nobody to send to.",
		"Write a backend with a weight above 0, or remove the rule.", nil},
	{"ShadowedRoute", api.Warning, "A route takes no request",
		"Other routes take every request that it matches, wherever it applies.", "Remove it, make its matches more specific, or change those of the other.", nil},
	{"ShadowedTimeout", api.Warning, "A timeout never fires, for a shorter one always comes first",
		"Several bounds limit one request: `http.requestTimeout`, `http.perTryTimeout` and `http.maxStreamDuration` of the caller, fields of the route (`timeouts`, `timeoutPolicy`, `backendTimeout`), and what the called sidecar has at its inbound. The shortest ends the request. A bound of one attempt ends it too where `retryOn` does not repeat that: `ConnectFailure` and `RefusedStream` do not.",
		"Make the bound in the message longer, or the other shorter. `weft simulate --answers 200@60s` shows which one ends a request.", nil},
	{"UnsafeRetry", api.Warning, "POST or PATCH is sent again",
		"A request that failed may have been carried out. Methods that are not idempotent (RFC 9110, 9.2.2) then have their effect twice. It is a hint where a policy repeats requests of every method to many routes, as a blanket `5xx` does.",
		"Repeat such requests on `ConnectFailure`, `RefusedStream` and `ResetBeforeRequest` alone, leave their methods out of `retryOn`, or see that the service knows a request again.", unsafeRetry},
}
