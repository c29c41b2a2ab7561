package trafficpermission

import (
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/kuma"
)

// Conf says who may call. An item of from has an action; a rule has lists, of which a deny
// goes before an allow, in whatever order they stand.
type Conf struct {
	// Action is what an item of from does with the callers that its targetRef names:
	// Allow, Deny or AllowWithShadowDeny.
	Action *string `json:"action,omitempty" weft:"route,action" schema:"enum=Allow|Deny|AllowWithShadowDeny"`
	// Deny are requests that are refused.
	Deny []Match `json:"deny,omitzero" weft:"route,lists"`
	// Allow are requests that are taken.
	Allow []Match `json:"allow,omitzero" weft:"route,lists"`
	// AllowWithShadowDeny are requests that are taken and counted as if they were
	// refused.
	AllowWithShadowDeny []Match `json:"allowWithShadowDeny,omitzero" weft:"route,lists"`
}

// Effective is the conf of an inbound: the lists of all documents that hold, and what they
// come to.
type Effective struct {
	*Conf
	*Permissions `json:"-"`
}

// Match holds of a request of which all its fields hold.
type Match struct {
	// SpiffeID is who calls, by a SPIFFE ID that the caller has proved: type Exact or Prefix. An allow
	// reads a prefix by whole segments of the path, a deny as text.
	SpiffeID *policies.ValueMatch `json:"spiffeID,omitempty"`
	// SNI is the name that the caller asks for in TLS: type Exact.
	SNI *policies.ValueMatch `json:"sni,omitempty"`
	// HTTP is what the request asks for. Where nobody reads requests the entry holds of nothing.
	HTTP *HTTPMatch `json:"http,omitempty"`
	// Anonymous is true for callers who have proved no identity, and is not false.
	Anonymous *bool `json:"anonymous,omitempty"`
}

// HTTPMatch holds of a request over HTTP, as the matches of a MeshHTTPRoute do.
type HTTPMatch struct {
	// Path is that of the request without its query: type Exact, PathPrefix by whole segments, or
	// RegularExpression. With it the inbound refuses requests with %2F or %5C in their path, whoever
	// calls, and reads // as /.
	Path *kuma.PathMatch `json:"path,omitempty"`
	// Methods are those of which the request has one.
	Methods []string `json:"methods,omitzero"`
	// Headers are those that the request has, all of them: type Exact, Prefix, RegularExpression,
	// Present or Absent.
	Headers []policies.HeaderMatch `json:"headers,omitzero"`
}

// Words of an action, and names of the lists.
const (
	allowAction, denyAction, shadowAction = "Allow", "Deny", "AllowWithShadowDeny"
	allow, deny, allowWithShadowDeny      = "allow", "deny", "allowWithShadowDeny"
)
