package attach

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/redact"
)

// Bounds of the headers of a tap.
const (
	MostHeaders       = 16
	LongestHeaderName = 64
	longestHeader     = 256
)

// CheckHeader says what is wrong with the name of a header that a tap asks for.
func CheckHeader(name string) error {
	switch {
	case strings.HasPrefix(name, ":"):
		return fmt.Errorf("%q is no header but a part of the request, which each one is told with anyway; leave it out", Printable(name, LongestHeaderName))
	case name == "" || len(name) > LongestHeaderName || strings.ContainsFunc(name, func(c rune) bool { return !isToken(c) }):
		return fmt.Errorf("%q is no name of a header; write one as x-request-id, of %d characters at most", Printable(name, LongestHeaderName), LongestHeaderName)
	}
	return nil
}

// isToken reports whether c may stand in the name of a header (RFC 9110, 5.6.2).
func isToken(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

// HeaderNames are names in lower case, sorted, and each there once.
func HeaderNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strings.ToLower(name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// proves reports whether a header is known to prove who somebody is (spec/telemetry.md 3, Privacy).
func proves(name string) bool {
	if redact.SecretHeader(name) || name == "authentication-info" || name == "proxy-authentication-info" {
		return true
	}
	for _, part := range []string{"token", "secret", "password", "credential", "session", "api-key", "apikey", "signature", "csrf", "xsrf", "jwt"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// hasURL reports whether a header holds addresses, whose queries are nobody's to see.
func hasURL(name string) bool {
	switch name {
	case "referer", "location", "content-location", "link", "refresh", "origin":
		return true
	}
	for _, part := range []string{"url", "uri", "path", "query", "referrer"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

var redacted = regexp.MustCompile(`^‹redacted \d{1,9} bytes›$`)

// HeaderShown is what is shown of the value of a header: of one that proves who somebody is its length alone, of
// an address what stands before its query.
func HeaderShown(name, value string) string {
	switch {
	case proves(name) && redacted.MatchString(value): // an agent has done it
		return value
	case proves(name):
		return fmt.Sprintf("‹redacted %d bytes›", len(value))
	case hasURL(name):
		if at := strings.IndexAny(value, "?#"); at >= 0 {
			value = value[:at] + "…"
		}
	}
	return Printable(value, longestHeader)
}

// only are those of the headers that have one of the names; nil for none.
func only(headers map[string]string, names []string) map[string]string {
	var out map[string]string
	for _, name := range names {
		if value, ok := headers[name]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = value
		}
	}
	return out
}

// Only is r with those headers alone that have one of the names.
func (r SeenRequest) Only(names []string) SeenRequest {
	r.Headers, r.AnswerHeaders = only(r.Headers, names), only(r.AnswerHeaders, names)
	return r
}

// printableHeaders are the headers of somebody else, bounded.
func printableHeaders(headers map[string]string) map[string]string {
	var out map[string]string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if CheckHeader(name) != nil || len(out) == MostHeaders {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = HeaderShown(name, headers[name])
	}
	return out
}
