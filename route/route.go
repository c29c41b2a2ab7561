// Package route is the one model of routes that every dialect is translated
// into. No document is decoded into it: each dialect has its own wire types, so
// that a field of the model is legal in no language before its dialect says so.
//
// It promises that what a dialect cannot express stays absent rather than empty.
// It knows no dialect, no policy and no Envoy.
package route

import "github.com/weftmesh/weft/api"

// Object is what one route object says, for all its destinations.
type Object struct {
	Ref     api.Ref
	Source  *api.Object
	Top     api.TargetRef // which dataplanes have it
	Role    string        // as of policies, where the dialect has roles; empty is system
	Entries []Entry
}

// Entry is what an object says for one destination: one item of spec.to.
type Entry struct {
	To    api.TargetRef
	Index int // in spec.to
	Rules []Rule
}

// Rule is one rule: matches that are ORed, and what happens to what they match.
type Rule struct {
	Origin  *api.Origin
	Matches []Match
	Key     string // by which rules of one dialect meet: equal where their matches are
	// Filters and Backends are nil where the rule leaves them to weaker objects;
	// an empty list that is not nil says 'none' and 'the destination itself'.
	Filters  []Filter
	Backends []BackendRef
}

// PathType is how a path is compared.
type PathType string

// The ways to compare a path, most specific first.
const (
	Exact  PathType = "Exact"
	Prefix PathType = "PathPrefix" // by segment: /v1 matches /v1 and /v1/x, not /v10
	Regex  PathType = "RegularExpression"
)

// Match is one alternative: all its parts must hold. The JSON form is for views.
type Match struct {
	Path    *PathMatch    `json:"path,omitempty"`
	Method  string        `json:"method,omitempty"`
	Query   []QueryMatch  `json:"queryParams,omitempty"`
	Headers []HeaderMatch `json:"headers,omitempty"`
}

// PathMatch compares the path without its query.
type PathMatch struct {
	Value string   `json:"value"`
	Type  PathType `json:"type"`
}

// QueryMatch compares one query parameter: Exact or RegularExpression.
type QueryMatch struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HeaderMatch compares one request header: Exact (default), Present, Absent,
// RegularExpression or Prefix.
type HeaderMatch struct {
	Type  string `json:"type,omitempty"`
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Filter changes a request or its answer; exactly one field is set.
type Filter struct {
	RequestHeaders  *HeaderModifier
	ResponseHeaders *HeaderModifier
	Redirect        *Redirect
	Rewrite         *Rewrite
	Mirror          *Mirror
}

// HeaderModifier is applied in the order set, add, remove.
type HeaderModifier struct {
	Set, Add []Header
	Remove   []string
}

// Header is a name in lower case and its value as the writer gave it: a percent
// sign is a percent sign.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Redirect answers with a location. Empty fields keep what the request has.
type Redirect struct {
	Scheme, Hostname string
	Port             uint32
	Path             *PathRewrite
	Status           uint32 // 301, 302, 303, 307, 308
}

// Rewrite changes what the backend sees.
type Rewrite struct {
	Hostname     string
	Path         *PathRewrite
	BackendsHost bool // hostToBackendHostname
}

// PathRewrite replaces the full path, or the prefix that the match names.
type PathRewrite struct {
	Full   *string
	Prefix *string
}

// Mirror copies a share of the requests to another backend.
type Mirror struct {
	Backend BackendRef
	Percent float64 // 0..100
}

// BackendRef names a backend and its weight.
type BackendRef struct {
	Target api.TargetRef // kind, name, namespace, labels, tags, sectionName
	Port   uint32        // 0 = not given
	Weight uint32
	Field  api.Path // where it stands in the document
}

// Dialect translates the objects of one route language.
type Dialect struct {
	Name  string
	Types []api.Type
	// Routes reads one object. What it cannot carry becomes notes on it.
	Routes func(*api.Object) (*Object, []api.Note)
	// Compare orders single matches, most specific first; zero leaves it to
	// the position in the merged list. It must be a strict weak order.
	Compare func(a, b *Match) int
}
