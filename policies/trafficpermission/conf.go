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
	SpiffeID  *policies.ValueMatch `json:"spiffeID,omitempty"` // Exact or Prefix
	SNI       *policies.ValueMatch `json:"sni,omitempty"`      // Exact
	HTTP      *HTTPMatch           `json:"http,omitempty"`
	Anonymous *bool                `json:"anonymous,omitempty"` // true: who has proved no identity
}

// HTTPMatch holds of a request over HTTP, as the matches of a MeshHTTPRoute do.
type HTTPMatch struct {
	Path    *kuma.PathMatch        `json:"path,omitempty"`
	Methods []string               `json:"methods,omitzero"` // one of them
	Headers []policies.HeaderMatch `json:"headers,omitzero"` // all of them
}

// Words of an action, and names of the lists.
const (
	allowAction, denyAction, shadowAction = "Allow", "Deny", "AllowWithShadowDeny"
	allow, deny, allowWithShadowDeny      = "allow", "deny", "allowWithShadowDeny"
)
