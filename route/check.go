package route

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// CheckHeaderName wants a name in lower case that HTTP allows.
func CheckHeaderName(at api.Path, name string) error {
	switch {
	case name == "":
		return at.Breaks("is missing; write the name of the header")
	case name[0] == ':':
		return at.Breaks("%q is not a header; use path, method or the host of the destination", redact.Clip(name))
	case len(name) > 256 || strings.Trim(name, tokenChars) != "":
		if lower := strings.ToLower(name); len(name) <= 256 && strings.Trim(lower, tokenChars) == "" {
			return at.Breaks("%q has capitals; write %s", name, lower)
		}
		return at.Breaks("%q is not a valid header name; use lower-case letters, digits and -, at most 256", redact.Clip(name))
	}
	return nil
}

// CheckCookieName wants a name that a cookie of a request can have (RFC 6265, 4.1.1).
func CheckCookieName(at api.Path, name string) error {
	switch {
	case name == "":
		return at.Breaks("is missing; write the name of the cookie")
	case len(name) > 256 || strings.Trim(strings.ToLower(name), tokenChars) != "":
		return at.Breaks("%q is not a valid cookie name; use letters, digits, - and _, at most 256", redact.Clip(name))
	}
	return nil
}

// tokenChars are those of HTTP tokens without capitals.
const tokenChars = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
