package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// Judge is what the conf of a kind may implement that decides who may come in at an inbound
// (spec/identity.md 4).
type Judge interface {
	Judge(*Visit) *Permission
	// Access is what becomes of a caller whatever it asks for: Some where that depends on
	// the request, of an inbound that reads requests.
	Access(names []string, requests bool) *Permission
	// OneSpelling reports whether the inbound refuses a path that has another spelling, and
	// takes several slashes for one.
	OneSpelling() bool
	// Lists are the entries that take part, and those in whose place others stand.
	Lists() *PermissionLists
}

// PermissionLists is who may call an inbound, or by a rule of a route: each list by the names of
// its entries. Entries of Shadow would refuse, were shadows real.
type PermissionLists struct {
	Deny   []PermissionEntry `json:"deny,omitempty"`
	Allow  []PermissionEntry `json:"allow,omitempty"`
	Shadow []PermissionEntry `json:"shadow,omitempty"`
	// Also are the lists of others that have to let a caller in too, because what arrives may be a
	// request of several rules.
	Also []*PermissionLists `json:"also,omitempty"`
}

// PermissionEntry is an entry and what it asks.
type PermissionEntry struct {
	PermissionBy
	Match    any  `json:"match"` // as it is written
	Override bool `json:"override,omitempty"`
	// ShadowedBy is the item whose list stands in the place of the entry's; absent where the
	// entry takes part.
	ShadowedBy *api.Origin `json:"shadowedBy,omitempty"`
}

// Visit is a request, or a connection, as it comes to an inbound in a mesh with identities.
type Visit struct {
	Names   []string       // that the caller has proved; none for plaintext
	Request *match.Request // nil for a connection in which nobody reads requests
}

// Permission is what was decided about a caller, and why.
type Permission struct {
	Decision string `json:"decision"` // allow or deny
	// Tier is the step of the decision that decided, 1 to 6; 0 where the caller was not asked,
	// because it has no identity and plaintext is let in.
	Tier int `json:"tier"`
	// Identity is who the caller has proved to be; empty for plaintext.
	Identity string        `json:"identity,omitempty"`
	By       *PermissionBy `json:"by,omitempty"`     // the entry that decided; none where none holds
	Shadow   string        `json:"shadow,omitempty"` // deny: so it would be, were shadows real
	ShadowBy *PermissionBy `json:"shadowBy,omitempty"`
	Others   []Considered  `json:"considered,omitempty"`
	Reason   string        `json:"reason,omitempty"` // of a decision that no list made
	// Rules are those of routes of which the request is, as it arrives, weakest first; none
	// where it is of none to which a permission is attached, nor of one before.
	Rules []*api.Origin `json:"rules,omitempty"`
}

// PermissionBy is an entry of a document about who may call.
type PermissionBy struct {
	Origin *api.Origin `json:"origin"`
	Rule   int         `json:"rule"` // or the item of from
	List   string      `json:"list"`
	Index  int         `json:"index"`
	Layer  string      `json:"layer"`
	Field  api.Path    `json:"field"`
	Name   string      `json:"name"` // under which Envoy counts it
}

// Considered is an entry that did not decide, and why.
type Considered struct {
	By  PermissionBy `json:"by"`
	Why string       `json:"why"`
}

// The decisions.
const (
	Allow = "allow"
	Deny  = "deny"
	Some  = "some" // of Access
)

// Access is what a caller that proves names may do at an inbound; nil where nobody proves who it
// is.
func Access(in *effective.Inbound, names []string) *Permission {
	if in.TLS == nil {
		return nil
	}
	to := Inbound{inbound: in, names: names, Protocol: in.Protocol}
	if by := JudgeOf(in); by != nil && (len(names) > 0 || in.TLS.TakesPlain()) {
		to.Permission = by.Access(names, to.reads())
		to.identify()
	} else {
		to.judge(nil)
	}
	if !to.reads() || len(names) == 0 && !in.TLS.TakesPlain() {
		return to.Permission
	}
	for i := range in.Rules { // by which it may be otherwise
		by := JudgeAt(&in.Rules[i])
		if by == nil {
			continue
		}
		if p := by.Access(names, true); p.Decision != to.Permission.Decision {
			return &Permission{Decision: Some, Tier: p.Tier, By: p.By, Identity: to.Permission.Identity, Reason: in.Rules[i].Closed}
		}
	}
	return to.Permission
}

// caller is how the one who asks shows itself, where that is not as its dataplane does.
type caller struct {
	as        []string
	plaintext bool
}

// callerOf reads who is supposed to ask.
func callerOf(q *wire.Request) (caller, error) {
	c := caller{plaintext: q.Plaintext}
	if q.As == "" {
		return c, nil
	}
	if q.Plaintext {
		return c, errors.New("plaintext: who speaks plaintext proves no identity; leave one of as and plaintext out")
	}
	id, err := spiffe.Parse(q.As)
	if err != nil {
		return c, fmt.Errorf("as: %w", err)
	}
	c.as = []string{id.String()}
	return c, nil
}

// idle notes that it makes no difference who asks, where somebody is named and nobody behind the
// branches asks who calls.
func (c *caller) idle(of []Branch) []api.Note {
	if c.as == nil {
		return nil
	}
	called := false
	for i := range of {
		for _, x := range of[i].Backends {
			for _, in := range x.Inbounds {
				if called = true; in.inbound.TLS != nil {
					return nil
				}
			}
		}
	}
	if !called {
		return nil
	}
	return []api.Note{{Severity: api.Warning, Code: "NotEnforced",
		Message: "as: nobody proves who calls there, so that it makes no difference who does; give the mesh mtls, or a MeshIdentity"}}
}

// proves are the names that the caller of an endpoint proves to its inbound; none in
// plaintext. Of a sidecar of which nothing is known yet the documents say how it is called.
func (t trace) proves(e *effective.Endpoint, in *effective.Inbound, documented bool) []string {
	switch {
	case in.TLS == nil || t.caller.plaintext:
		return nil
	case t.caller.as != nil:
		return t.caller.as
	case e.Plain && !documented:
		return nil
	}
	return t.from.Proves()
}

// judge decides about read, a request as the inbound's proxy has it, or about a connection,
// nil; status is that of an answer without a decision, 0 for none. Where nobody proves who
// it is, nobody is judged.
func (in *Inbound) judge(read *wire.Forwarded) (status uint32) {
	if in.inbound.TLS == nil {
		return 0
	}
	v := &Visit{Names: in.names}
	if read != nil {
		v.Request = asked(read)
	}
	if in.Permission, status = Judged(in.inbound, v); status != 0 {
		return status
	}
	in.identify()
	return 0
}

func (in *Inbound) identify() {
	if len(in.names) > 0 {
		in.Permission.Identity = in.names[0]
	}
}

// unasked is why a caller in plaintext comes in.
const unasked = "plaintext is let in, and nobody asks who calls"

// JudgeOf decides who may come in at an inbound; nil where no document says so.
func JudgeOf(in *effective.Inbound) Judge { return judgeAmong(in.Policies) }

// JudgeAt decides by a rule of an inbound; nil where what holds of all requests does.
func JudgeAt(r *effective.InboundRule) Judge { return judgeAmong(r.Over(nil)) }

func judgeAmong(list effective.Policies) Judge {
	for _, e := range list {
		if j, ok := e.Conf.(Judge); ok {
			return j
		}
	}
	return nil
}

// denied reports whether the caller is kept out.
func (in *Inbound) denied() bool { return in.Permission != nil && in.Permission.Decision == Deny }

// keepOut is what the sidecar does to a caller that is kept out: a request it answers, and
// the connection of who has no TLS in common with it, or carries no requests, it closes. Where
// the sidecar of the caller reads requests, the caller is answered by that.
func (in *Inbound) keepOut(requests bool) {
	if len(in.names) == 0 && !in.inbound.TLS.TakesPlain() || !in.reads() {
		in.Outcome, in.Status = Refused, 0
		in.unread = &Answer{Reset: true}
		if requests {
			in.Status = http.StatusServiceUnavailable
		}
		return
	}
	in.unread = &Answer{Status: http.StatusForbidden}
	in.ends(*in.unread)
}

func asked(f *wire.Forwarded) *match.Request {
	path, query, _ := strings.Cut(f.Path, "?")
	return &match.Request{Method: f.Method, Authority: f.Authority, Path: path, Query: query, Header: f.Headers.Values}
}
