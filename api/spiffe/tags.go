package spiffe

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/template"
)

// ServiceTag names the service of an inbound in Kuma's tags.
const ServiceTag = "kuma.io/service"

// mostTags bounds what a certificate says of tags.
const mostTags = 64

// OfTags are the names of a dataplane by Kuma's older identities (spec/identity.md 2.5):
// spiffe://<mesh>/<service> for each service first, since a validator of SPIFFE looks at
// the first name only (F2), then kuma://<tag>/<value> for each tag, sorted. Tags are
// those of all inbounds, each with the values that it has.
func OfTags(mesh string, tags map[string][]string) ([]string, error) {
	var out, rest []string
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		for _, value := range slices.Compact(slices.Sorted(slices.Values(tags[tag]))) {
			if tag == ServiceTag {
				id := ID{Domain: mesh, Path: "/" + value}
				if again, err := Parse(id.String()); err != nil || again != id || strings.Contains(value, "/") {
					return nil, fmt.Errorf("mesh %q and service %q make no SPIFFE ID; use letters, digits, dots, dashes and underscores", template.Clip(mesh), template.Clip(value))
				}
				out = append(out, id.String())
			}
			name, err := tagURI(tag, value)
			if err != nil {
				return nil, err
			}
			rest = append(rest, name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the dataplane has no tag %s; give each inbound one", ServiceTag)
	}
	if len(rest) > mostTags {
		return nil, fmt.Errorf("the dataplane has %d values of tags, of which a certificate holds at most %d; remove some", len(rest), mostTags)
	}
	return append(out, rest...), nil
}

// OfTag is the name by which a certificate says that its dataplane has a tag.
func OfTag(tag, value string) string { return "kuma://" + tag + "/" + value }

// tagURI is the URI of one tag. What a URI would not give back as it stands is refused,
// and not escaped: whoever compares it compares bytes.
func tagURI(tag, value string) (string, error) {
	text := OfTag(tag, value)
	u, err := url.Parse(text)
	host, _, _ := strings.Cut(tag, "/")
	if err != nil || u.String() != text || u.Host != host || strings.ContainsAny(text, "?#") || !hostLike(host) {
		return "", fmt.Errorf("the tag %s with value %q cannot stand in a certificate; use letters, digits, dots, dashes and underscores", template.Clip(tag), template.Clip(value))
	}
	return text, nil
}

// hostLike reports whether certificates take text for the host of a URI.
func hostLike(text string) bool {
	for part := range strings.SplitSeq(text, ".") {
		if part == "" || !only(part, func(c byte) bool { return domainByte(c) || c >= 'A' && c <= 'Z' }) {
			return false
		}
	}
	return true
}
