package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/route"
)

// call is a request as Envoy has it when it looks for a route.
type call struct {
	method    string
	authority string
	path      string  // normalised, without the query
	query     string  // with its question mark
	sent      Headers // what reaches a backend if no filter changes it
	headers   Headers // what matches see: sent, and what Envoy adds before it looks
	grpc      bool
	upgrade   upgrade
}

// whyNot says why a request does not match, for people; it is empty if it does.
func whyNot(m *route.Match, c *call) string {
	if reason := whyNotPath(m.Path, c.path); reason != "" {
		return reason
	}
	if m.Method != "" && m.Method != c.method {
		return fmt.Sprintf("method %s is not %s", c.method, m.Method)
	}
	for i := range m.Headers {
		if reason := whyNotHeader(&m.Headers[i], c.headers); reason != "" {
			return reason
		}
	}
	for i := range m.Query {
		if reason := whyNotQuery(&m.Query[i], c.query); reason != "" {
			return reason
		}
	}
	return ""
}

func whyNotPath(m *route.PathMatch, path string) string {
	if m == nil {
		return ""
	}
	switch m.Type {
	case route.Exact:
		if path != m.Value {
			return fmt.Sprintf("path %s is not %s", path, m.Value)
		}
	case route.Regex:
		if !fullMatch(m.Value, path) {
			return fmt.Sprintf("path %s does not match the expression %s", path, m.Value)
		}
	default:
		if prefix := strings.TrimSuffix(m.Value, "/"); path != prefix && !strings.HasPrefix(path, prefix+"/") {
			return fmt.Sprintf("path %s is not under prefix %s", path, m.Value)
		}
	}
	return ""
}

// whyNotHeader asks each line of a repeated header: one that fits is enough.
func whyNotHeader(m *route.HeaderMatch, headers Headers) string {
	values := headers.Values(strings.ToLower(m.Name))
	switch {
	case m.Type == "Absent" && len(values) > 0:
		return fmt.Sprintf("header %s is present", m.Name)
	case m.Type == "Absent":
		return ""
	case len(values) == 0:
		return fmt.Sprintf("header %s is missing", m.Name)
	case m.Type == "Present", slices.ContainsFunc(values, func(v string) bool { return headerFits(m, v) }):
		return ""
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return fmt.Sprintf("header %s is %s, %s", m.Name, strings.Join(quoted, " and "), wants(m.Type, m.Value))
}

func headerFits(m *route.HeaderMatch, value string) bool {
	switch m.Type {
	case "Prefix":
		return strings.HasPrefix(value, m.Value)
	case "RegularExpression":
		return fullMatch(m.Value, value)
	}
	return value == m.Value
}

func wants(kind, value string) string {
	switch kind {
	case "Prefix":
		return fmt.Sprintf("which does not begin with %q", value)
	case "RegularExpression":
		return "which does not match the expression " + value
	}
	return fmt.Sprintf("not %q", value)
}

// whyNotQuery compares the first parameter of that name. Nothing is decoded:
// neither does Envoy.
func whyNotQuery(m *route.QueryMatch, query string) string {
	value, ok := parameter(query, m.Name)
	fits := value == m.Value
	if m.Type == "RegularExpression" {
		fits = fullMatch(m.Value, value)
	}
	switch {
	case !ok:
		return fmt.Sprintf("query parameter %s is missing", m.Name)
	case !fits:
		return fmt.Sprintf("query parameter %s is %q, %s", m.Name, value, wants(m.Type, m.Value))
	}
	return ""
}

func parameter(query, name string) (value string, ok bool) {
	for pair := range strings.SplitSeq(strings.TrimPrefix(query, "?"), "&") {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// fullMatch reports whether all of text matches. An expression that is empty or
// cannot be compiled matches nothing: the renderer leaves its route out.
func fullMatch(expression, text string) bool {
	if expression == "" {
		return false
	}
	re, err := regexp.Compile(`\A(?:` + route.Bytewise(expression) + `)\z`)
	return err == nil && re.MatchString(route.Bytewise(text))
}
