package route

import (
	"github.com/weftmesh/weft/api"
)

// Inline is what a route object says in the terms of a kind of policy: a layer
// under the policies that are attached to it.
type Inline struct {
	Policy InlinePolicy
	Origin *api.Origin // whose Field is where the document says it
}

// InlinePolicy is a *Timeouts, a *Retry, a *RateLimit or an *AccessLines. Dialects fill these in, and do
// not know how the kinds of policies are written.
type InlinePolicy interface {
	// Kind is that of the policies in whose terms it speaks.
	Kind() string
	// Fields are those that it sets, by their paths in a document of the kind and in the types
	// of the kind's conf; an object is a map of its fields.
	Fields() map[string]any
}

// Timeouts bound requests in time as a MeshTimeout does: nil says nothing, 0 is no bound.
type Timeouts struct {
	Request    *api.Duration // from the end of the request to the end of the answer
	StreamIdle *api.Duration // of one request
	Idle       *api.Duration // of a connection without requests
}

// Kind is MeshTimeout.
func (*Timeouts) Kind() string { return "MeshTimeout" }

// Fields are the bounds that are said.
func (t *Timeouts) Fields() map[string]any {
	out := fields{}
	out.duration("http.requestTimeout", t.Request)
	out.duration("http.streamIdleTimeout", t.StreamIdle)
	out.duration("idleTimeout", t.Idle)
	return out
}

// Retry repeats requests as a MeshRetry does: nil says nothing.
type Retry struct {
	Number *uint32  // of repetitions; 0 for none
	On     []string // conditions and statuses, in the words of MeshRetry
	PerTry *api.Duration
	// Base is the shortest pause before a repetition.
	Base *api.Duration
}

// Kind is MeshRetry.
func (*Retry) Kind() string { return "MeshRetry" }

// Fields are those that are said.
func (r *Retry) Fields() map[string]any {
	out := fields{}
	if r.Number != nil {
		out["http.numRetries"] = r.Number
	}
	if r.On != nil {
		out["http.retryOn"] = r.On
	}
	out.duration("http.perTryTimeout", r.PerTry)
	out.duration("http.backOff.baseInterval", r.Base)
	return out
}

// RateLimit admits requests as the local limit of a MeshRateLimit does: nil says nothing.
type RateLimit struct {
	Rate *Rate
	// Status and Set are of the answer to a request over the limit.
	Status *uint32
	Set    []Header
}

// Rate is so many requests in an interval, and Burst more at once.
type Rate struct {
	Requests uint32
	Interval api.Duration
	Burst    uint32
}

// Kind is MeshRateLimit.
func (*RateLimit) Kind() string { return "MeshRateLimit" }

// Fields are those that are said.
func (l *RateLimit) Fields() map[string]any {
	out := fields{}
	if r := l.Rate; r != nil {
		rate := map[string]any{"num": &r.Requests, "interval": &r.Interval}
		if r.Burst > 0 {
			rate["burst"] = &r.Burst
		}
		out["local.http.requestRate"] = rate
	}
	if l.Status != nil {
		out["local.http.onRateLimit.status"] = l.Status
	}
	if len(l.Set) > 0 {
		out["local.http.onRateLimit.headers.set"] = l.Set
	}
	return out
}

// AccessLines is whether lines of requests are written, as a MeshAccessLog says it.
type AccessLines struct {
	// Off writes none, wherever policies would have them go; nil says nothing.
	Off *bool
}

// Kind is MeshAccessLog.
func (*AccessLines) Kind() string { return "MeshAccessLog" }

// Fields are an empty list of backends where none is to get lines. Where lines go is for policies to say.
func (a *AccessLines) Fields() map[string]any {
	if a.Off == nil || !*a.Off {
		return map[string]any{}
	}
	return map[string]any{"backends": []any{}}
}

// fields are those of a policy, by path.
type fields map[string]any

func (f fields) duration(path string, d *api.Duration) {
	if d != nil {
		f[path] = d
	}
}

// FieldsOf are the fields of policies that a rule says itself, by kind and path: of one
// that is said twice the stronger.
func FieldsOf(list []Inline) map[string]map[string]any {
	out := map[string]map[string]any{}
	said := InlineOf(list)
	for _, p := range []InlinePolicy{&said.Timeouts, &said.Retry, &said.RateLimit, &said.AccessLines} {
		if fields := p.Fields(); len(fields) > 0 {
			out[p.Kind()] = fields
		}
	}
	return out
}

// InlinePolicies are what a rule says itself in the terms of each kind of policy.
type InlinePolicies struct {
	Timeouts    Timeouts
	Retry       Retry
	RateLimit   RateLimit
	AccessLines AccessLines
}

// InlineOf is what a rule says itself in the terms of policies: of a field that is said twice
// the stronger.
func InlineOf(list []Inline) (out InlinePolicies) {
	t, r, l, a := &out.Timeouts, &out.Retry, &out.RateLimit, &out.AccessLines
	for _, in := range list {
		switch p := in.Policy.(type) {
		case *Timeouts:
			*t = Timeouts{stronger(p.Request, t.Request), stronger(p.StreamIdle, t.StreamIdle), stronger(p.Idle, t.Idle)}
		case *Retry:
			r.Number, r.PerTry, r.Base = stronger(p.Number, r.Number), stronger(p.PerTry, r.PerTry), stronger(p.Base, r.Base)
			if p.On != nil {
				r.On = p.On
			}
		case *RateLimit:
			l.Rate, l.Status = stronger(p.Rate, l.Rate), stronger(p.Status, l.Status)
			if len(p.Set) > 0 {
				l.Set = p.Set
			}
		case *AccessLines:
			a.Off = stronger(p.Off, a.Off)
		}
	}
	return out
}

// stronger is a, or where it says nothing b.
func stronger[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
