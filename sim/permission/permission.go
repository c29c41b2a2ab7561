package permission

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
)

// Decider is what the conf of a kind may implement that decides who may come in at an inbound
// (spec/identity.md 4).
type Decider interface {
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
	reads := in.Protocol.HTTPLike()
	var p *Permission
	if by := DeciderOf(in); by != nil && (len(names) > 0 || in.TLS.TakesPlain()) {
		p = by.Access(names, reads)
	} else {
		p, _ = Decide(in, &Visit{Names: names})
	}
	p.identify(names)
	if !reads || len(names) == 0 && !in.TLS.TakesPlain() {
		return p
	}
	for i := range in.Rules { // by which it may be otherwise
		by := DeciderAt(&in.Rules[i])
		if by == nil {
			continue
		}
		if q := by.Access(names, true); q.Decision != p.Decision {
			return &Permission{Decision: Some, Tier: q.Tier, By: q.By, Identity: p.Identity, Reason: in.Rules[i].Closed}
		}
	}
	return p
}

// identify notes who the caller has proved to be.
func (p *Permission) identify(names []string) {
	if len(names) > 0 {
		p.Identity = names[0]
	}
}

// unasked is why a caller in plaintext comes in.
const unasked = "plaintext is let in, and nobody asks who calls"

// DeciderOf decides who may come in at an inbound; nil where no document says so.
func DeciderOf(in *effective.Inbound) Decider { return deciderAmong(in.Policies) }

// DeciderAt decides by a rule of an inbound; nil where what holds of all requests does.
func DeciderAt(r *effective.InboundRule) Decider { return deciderAmong(r.Over(nil)) }

func deciderAmong(list effective.Policies) (by Decider) {
	for _, e := range list {
		switch j, ok := e.Conf.(Decider); {
		case !ok:
		case by == nil:
			by = j
		default:
			by = both{by, j}
		}
	}
	return by
}

// Key is equal for decisions that say the same.
func (p *Permission) Key() string {
	if p == nil {
		return ""
	}
	by := ""
	if p.By != nil {
		by = p.By.Name
	}
	return strings.Join([]string{p.Decision, p.Identity, by, p.Shadow, p.Reason}, "\x00")
}
