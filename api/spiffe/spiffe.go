// Package spiffe knows the names of workloads: SPIFFE IDs, the templates that make them,
// and what it is that a prefix of one selects (spec/identity.md 1.2, 1.5, 2.5).
//
// What it returns as an ID is one by the SPIFFE standard, so that no name is read
// differently by two who compare it: nothing is decoded, nothing is cleaned.
package spiffe

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/weftmesh/weft/api/template"
)

// Scheme begins every SPIFFE ID.
const Scheme = "spiffe://"

// The bounds of an ID and of a trust domain, in bytes.
const (
	longest       = 2048
	longestDomain = 253
)

// ID is the name of one workload, or of a trust domain where Path is empty.
type ID struct {
	Domain string // lower-case letters, digits, dots, dashes and underscores
	Path   string // empty, or segments that each begin with a slash
}

// String is the ID as a URI.
func (id ID) String() string { return Scheme + id.Domain + id.Path }

// Parse reads an ID. The error says what is wrong with text and what to write.
func Parse(text string) (ID, error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return ID{}, fmt.Errorf("%q does not begin with %s; write spiffe://trust-domain/path", template.Clip(text), Scheme)
	}
	id := ID{Domain: rest}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		id.Domain, id.Path = rest[:i], rest[i:]
	}
	if err := CheckDomain(id.Domain); err != nil {
		return ID{}, err
	}
	if err := checkPath(id.Path); err != nil {
		return ID{}, err
	}
	if len(text) > longest {
		return ID{}, fmt.Errorf("the ID has more than %d characters; shorten it", longest)
	}
	return id, nil
}

// ParsePrefix reads an ID that a trailing slash may follow, which it drops: it has no
// meaning by segment.
func ParsePrefix(text string) (ID, error) {
	return Parse(strings.TrimSuffix(text, "/"))
}

// CheckDomain says why text is no trust domain. Its parts are those of a host name, for
// that is what certificates take it for.
func CheckDomain(text string) error {
	if text == "" {
		return errors.New("the trust domain is missing; write spiffe://trust-domain/path")
	}
	if len(text) > longestDomain {
		return fmt.Errorf("the trust domain has more than %d characters; shorten it", longestDomain)
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return fmt.Errorf("%q is an address and no trust domain; write a name", text)
	}
	for part := range strings.SplitSeq(text, ".") {
		if part == "" || !only(part, domainByte) {
			return fmt.Errorf("%q is no trust domain; use lower-case letters, digits, dashes and underscores, with single dots between them", template.Clip(text))
		}
	}
	return nil
}

// checkPath says why text is no path of an ID.
func checkPath(text string) error {
	if text == "" {
		return nil
	}
	if text[0] != '/' {
		return fmt.Errorf("the path %q does not begin with a slash; write one there", template.Clip(text))
	}
	for segment := range strings.SplitSeq(text[1:], "/") {
		switch {
		case segment == "":
			return fmt.Errorf("the path %q has an empty part; write single slashes, and none at the end", template.Clip(text))
		case segment == "." || segment == "..":
			return fmt.Errorf("the path %q has a part %q; write the path that is meant", template.Clip(text), segment)
		case !only(segment, pathByte):
			return fmt.Errorf("the path %q has other characters than letters, digits, dots, dashes and underscores; leave them out", template.Clip(text))
		}
	}
	return nil
}

func domainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func pathByte(c byte) bool { return domainByte(c) || c >= 'A' && c <= 'Z' || c == '.' }

func only(text string, allowed func(byte) bool) bool {
	for i := range len(text) {
		if !allowed(text[i]) {
			return false
		}
	}
	return true
}

// Under reports whether id is prefix or lies below it, segment by segment: so an allow
// reads a prefix. spiffe://td/ns/a selects itself and spiffe://td/ns/a/sa/x, and neither
// spiffe://td/ns/ab nor spiffe://td-evil (spec/identity.md 1.5, threat I6).
func Under(id, prefix string) bool {
	rest, ok := strings.CutPrefix(id, strings.TrimSuffix(prefix, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// Begins reports whether id begins with prefix, byte by byte, as Kuma reads a prefix: so a
// deny does. It holds wherever Under does, so neither reading lets anybody in.
func Begins(id, prefix string) bool {
	return strings.HasPrefix(id, prefix) || Under(id, prefix)
}
