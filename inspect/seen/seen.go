// Package seen says what became of single requests, as sidecars saw them, and which documents were behind
// it: the route and the rule that took one, the policies whose values stood in that, and what in them
// explains how it ended (docs/traffic.md).
//
// It promises that what a line said when it was written is told apart from what the documents say now.
package seen

import (
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/naming"
)

// The sides of a call.
const (
	SideCaller = "caller" // the sidecar of who sent the request
	SideCalled = "called" // that of who was called
)

// Record is one request as a sidecar saw it.
type Record struct {
	ID         string    `json:"id,omitempty"` // x-request-id
	Dataplane  string    `json:"dataplane"`    // whose sidecar saw it, with its namespace
	Side       string    `json:"side"`         // caller or called
	Time       time.Time `json:"time"`         // it began
	DurationMs float64   `json:"durationMs"`
	Method     string    `json:"method,omitempty"`
	Authority  string    `json:"authority,omitempty"`
	// Path is without the query; where the mesh does not have paths told it is empty, and Match stands
	// for it, what the rule takes.
	Path      string `json:"path,omitempty"`
	Match     string `json:"match,omitempty"`
	Protocol  string `json:"protocol,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
	Status    uint32 `json:"status"`          // 0: there was no answer
	Flags     string `json:"flags,omitempty"` // of Envoy
	Details   string `json:"details,omitempty"`
	// Words say why it ended so, where it was no answer of the service.
	Words string `json:"words,omitempty"`
	// EndedBy says who ended it: service, sidecar or client.
	EndedBy string `json:"endedBy"`
	Tries   uint32 `json:"tries"`
	Host    string `json:"host,omitempty"`   // to which it was forwarded last
	Caller  string `json:"caller,omitempty"` // at the called side: who called, by certificate, or its network
	To      string `json:"to,omitempty"`     // at the caller's side: what was called, NAME:PORT
	// Rule is that of a route which took it, and Policies are those whose values stood there, as the
	// sidecar had them then.
	Rule     *ActingDocument  `json:"rule,omitempty"`
	Policies []ActingDocument `json:"policies"`
	// Changed says that the rule is not what it was.
	Changed bool `json:"changed,omitempty"`
	// Because are the fields that explain Words, as they hold now.
	Because  []ExplainingField `json:"because,omitempty"`
	Attempts []FailedAttempt   `json:"attempts,omitempty"` // that failed
	// StandsFor is of how many requests the line is a sample.
	StandsFor float64 `json:"standsFor"`
	// Headers are those of the request that who watches asked for, and AnswerHeaders those of its answer, by their
	// names in lower case.
	Headers       map[string]string `json:"headers,omitempty"`
	AnswerHeaders map[string]string `json:"answerHeaders,omitempty"`
}

// ActingDocument is whose values stood in a route.
type ActingDocument struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	RuleName  string `json:"ruleName,omitempty"`
	Field     string `json:"field,omitempty"` // where in the document
}

// String is KIND/NAMESPACE/NAME FIELD.
func (d *ActingDocument) String() string {
	name := d.Name
	if d.Namespace != "" {
		name = d.Namespace + "/" + name
	}
	return strings.TrimSpace(d.Kind + "/" + name + " " + d.Field)
}

// ExplainingField is a value that explains how a request ended.
type ExplainingField struct {
	Kind   string      `json:"kind"`
	Field  string      `json:"field"`
	Value  any         `json:"value"`
	Origin *api.Origin `json:"origin"`
}

// FailedAttempt is one that failed.
type FailedAttempt struct {
	DurationMs float64 `json:"durationMs"`
	Host       string  `json:"host,omitempty"`
	Status     uint32  `json:"status"`
	Flags      string  `json:"flags,omitempty"`
	Details    string  `json:"details,omitempty"`
	Words      string  `json:"words,omitempty"`
}

// Of is what is known of a request that the sidecar of r saw. IsRoute reports which kinds are routes.
func Of(r *effective.Resolved, s *attach.SeenRequest, isRoute func(kind string) bool) Record {
	out := Record{
		ID: s.ID, Dataplane: r.Ref.FullName(), Side: SideCaller, Time: s.Began, DurationMs: milliseconds(s.TookMicros),
		Method: s.Method, Authority: s.Authority, Path: s.Path, Protocol: s.Protocol, UserAgent: s.UserAgent,
		Status: s.Status, Flags: s.Flags, Details: s.Details, Words: words(s.Flags, s.Details, s.Status), EndedBy: endedBy(s),
		Tries: s.Tries, Host: s.Host, Policies: []ActingDocument{}, StandsFor: s.StandsFor,
		Headers: s.Headers, AnswerHeaders: s.AnswerHeaders,
	}
	for _, a := range s.Attempts {
		out.Attempts = append(out.Attempts, FailedAttempt{milliseconds(a.TookMicros), a.Host, a.Status, a.Flags, a.Details, words(a.Flags, a.Details, a.Status)})
	}
	for _, o := range s.Origins() {
		d := ActingDocument(o)
		if isRoute(d.Kind) {
			out.Rule = &d // the strongest is the last of them
		} else {
			out.Policies = append(out.Policies, d)
		}
	}
	for _, in := range r.Inbounds {
		if naming.Inbound(in.Inbound) == s.Table {
			out.Side, out.Caller = SideCalled, caller(s)
			out.Because = because(&out, ruleOf(in.Inbound, out.Rule).Over(in.Policies))
			return out
		}
	}
	if o := r.CalledAs(s.Table); o != nil {
		out.To = o.Destination.ID
		if rt := routeOf(o, s.Slot); rt != nil {
			out.Match = matchOf(rt)
			out.Changed = out.Rule != nil && !out.Rule.isAmong(rt.Origins)
			out.Because = because(&out, rt.Policies)
		}
	}
	return out
}

func milliseconds(micros int64) float64 { return float64(micros) / 1000 }

// answered are the details of an answer of who was called.
const answered = "via_upstream"

// words are for why a request ended as it did; empty for an answer of the service with nothing beside it.
func words(flags, details string, status uint32) string {
	if flags == "" && (details == answered || details == "") {
		return ""
	}
	return traffic.RequestCause{Flags: flags, Details: details, Status: status}.Words()
}

func endedBy(s *attach.SeenRequest) string {
	switch {
	case s.Details == answered:
		return "service"
	case slices.Contains(strings.Split(s.Flags, ","), "DC"), slices.Contains(strings.Split(s.Flags, ","), "DR"):
		return "client"
	}
	return "sidecar"
}

// caller is who called, as far as it is known.
func caller(s *attach.SeenRequest) string {
	if s.Caller != "" {
		return s.Caller
	}
	return s.Client
}

// routeOf is a route of the slot, as the table is now.
func routeOf(o *effective.Outbound, slot int) *effective.Route {
	if i := slices.IndexFunc(o.Table.Slots(), func(s uint16) bool { return int(s) == slot }); i >= 0 {
		return o.Table.Routes[i]
	}
	return nil
}

// ruleOf is the rule of an inbound that is of a document's rule; nil where none is told apart.
func ruleOf(in *effective.Inbound, d *ActingDocument) *effective.InboundRule {
	if d == nil {
		return nil
	}
	for i := range in.Rules {
		if d.isAmong(in.Rules[i].Rules) {
			return &in.Rules[i]
		}
	}
	return nil
}

// matchOf is what a rule takes, in words.
func matchOf(rt *effective.Route) string {
	var all []string
	for _, m := range append(slices.Clone(rt.Matches), rt.Match) {
		if text := m.Short(); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(rt.Matches) == 0 {
		return match.CatchAll.Short()
	}
	return strings.Join(all, " or ")
}

func (d *ActingDocument) isAmong(origins []*api.Origin) bool {
	return slices.ContainsFunc(origins, func(o *api.Origin) bool {
		return o.Kind == d.Kind && o.Namespace == d.Namespace && o.Name == d.Name && (d.Field == "" || string(o.Field) == d.Field)
	})
}

// because are the values that explain how a request ended.
func because(r *Record, all effective.Policies) (out []ExplainingField) {
	for _, words := range append([]string{r.Words}, attemptWords(r.Attempts)...) {
		for _, e := range all {
			fields := e.Kind.Explains[policies.EndWords(words)]
			for _, f := range e.Fields {
				path := e.Kind.Schema.Leaves[f.Field].Path
				told := slices.ContainsFunc(out, func(x ExplainingField) bool { return x.Kind == e.Kind.Name && x.Field == path })
				if slices.Contains(fields, path) && !told {
					out = append(out, ExplainingField{Kind: e.Kind.Name, Field: path, Value: f.Value(), Origin: f.Winner().Origin})
				}
			}
		}
	}
	return out
}

func attemptWords(list []FailedAttempt) (out []string) {
	for _, a := range list {
		out = append(out, a.Words)
	}
	return out
}

// SimulatedRecord is what the simulator says of a request that was seen.
type SimulatedRecord struct {
	Dataplane string `json:"dataplane"`
	Method    string `json:"method"`
	URL       string `json:"url"`
	// Rule is the rule that would take it now; SameRule says that it is the one that took it.
	Rule     *ActingDocument `json:"rule,omitempty"`
	SameRule bool            `json:"sameRule"`
	Outcome  string          `json:"outcome,omitempty"` // of the first branch
	Status   uint32          `json:"status,omitempty"`
	// Unknown is why there is none, or what the simulator does not know of it.
	Unknown []string `json:"unknown,omitempty"`
}
