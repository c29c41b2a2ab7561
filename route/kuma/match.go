package kuma

import "github.com/weftmesh/weft/route"

// PathType is how a path is compared, as documents write it.
type PathType string

// The ways to compare a path, most specific first.
const (
	Exact  PathType = "Exact"
	Prefix PathType = "PathPrefix" // by segment: /v1 matches /v1 and /v1/x, not /v10
	Regex  PathType = "RegularExpression"
)

// Match is one alternative of a rule: all its parts must hold. Names and order of
// its JSON form are those of the match key (spec/kuma.md 2.1). What documents may
// say stands here alone: what the route model can carry besides is no field of theirs.
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

// Header is a name in lower case and its value as the writer gave it.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// matches are those of a rule in the route model.
func matches(list []Match) []route.Match {
	out := make([]route.Match, len(list))
	for i := range list {
		m := &list[i]
		out[i].Method = m.Method
		if m.Path != nil {
			out[i].Path = &route.PathMatch{Value: m.Path.Value, Type: route.PathType(m.Path.Type)}
		}
		for _, q := range m.Query {
			out[i].Query = append(out[i].Query, route.QueryMatch(q))
		}
		for _, h := range m.Headers {
			out[i].Headers = append(out[i].Headers, route.HeaderMatch(h))
		}
	}
	return out
}

func headers(list []Header) []route.Header {
	var out []route.Header
	for _, h := range list {
		out = append(out, route.Header(h))
	}
	return out
}
