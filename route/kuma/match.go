package kuma

import (
	"cmp"
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

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
	Method  string        `json:"method,omitempty" schema:"enum=CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT|TRACE"`
	Query   []QueryMatch  `json:"queryParams,omitempty"`
	Headers []HeaderMatch `json:"headers,omitempty"`
}

// PathMatch compares the path without its query.
type PathMatch struct {
	Value string   `json:"value" schema:"required"`
	Type  PathType `json:"type" schema:"required,enum=Exact|PathPrefix|RegularExpression"`
}

// QueryMatch compares one query parameter: Exact or RegularExpression.
type QueryMatch struct {
	Type  string `json:"type" schema:"required,enum=Exact|RegularExpression"`
	Name  string `json:"name" schema:"required,is=header"`
	Value string `json:"value" schema:"is=header"`
}

// HeaderMatch compares one request header: Exact (default), Present, Absent,
// RegularExpression or Prefix.
type HeaderMatch struct {
	Type  string `json:"type,omitempty" schema:"enum=Exact|Present|RegularExpression|Absent|Prefix,default=Exact"`
	Name  string `json:"name" schema:"required,is=headerName"`
	Value string `json:"value,omitempty" schema:"is=header"`
}

// Header is a name in lower case and its value as the writer gave it.
type Header struct {
	Name  string `json:"name" schema:"required,is=headerName"`
	Value string `json:"value" schema:"is=header"`
}

// matches are those of a rule in the route model; at is where they stand. One
// that asks what no request can be asked is left out, and a note says so: it
// takes nothing, where without that condition it would take more than was meant.
func matches(list []Match, at api.Path, origin *api.Origin) (out []match.Match, notes []api.Note) {
	out = make([]match.Match, 0, len(list))
	for i := range list {
		conditions, err := list[i].conditions()
		if err != nil {
			notes = append(notes, api.Note{Origin: origin, Severity: api.Error, Code: api.CodeUnsupported, Field: at.Index(i),
				Message: fmt.Sprintf("the match takes no request: %v; correct it", err)})
			continue
		}
		out = append(out, match.Match{Conditions: conditions})
	}
	return out, notes
}

// conditions are what m asks, in the order of its fields, up to the first that
// nothing can be asked.
func (m *Match) conditions() (match.Conditions, error) {
	out := make(match.Conditions, 0, 2+len(m.Headers)+len(m.Query))
	add := func(c match.Condition, err error) error {
		out = append(out, c)
		return err
	}
	if m.Path != nil {
		if err := add(match.Written(match.OnPath, string(m.Path.Type), "", m.Path.Value)); err != nil {
			return nil, fmt.Errorf("path: %w", err)
		}
	}
	if m.Method != "" {
		if err := add(match.Compare(match.OnMethod, "", match.Equal, 0, m.Method)); err != nil {
			return nil, fmt.Errorf("method: %w", err)
		}
	}
	for _, h := range m.Headers {
		if err := add(match.Written(match.OnHeader, cmp.Or(h.Type, string(Exact)), h.Name, h.Value)); err != nil {
			return nil, fmt.Errorf("header %s: %w", h.Name, err)
		}
	}
	for _, q := range m.Query {
		if err := add(match.Written(match.OnQuery, q.Type, q.Name, q.Value)); err != nil {
			return nil, fmt.Errorf("query parameter %s: %w", q.Name, err)
		}
	}
	return out, nil
}

func headers(list []Header) []route.Header {
	var out []route.Header
	for _, h := range list {
		out = append(out, route.Header(h))
	}
	return out
}
