package wire

import (
	"regexp"
	"strings"
)

var (
	// absoluteReferer is a URL with a host as Envoy reads one: without a user (an empty one is none) and a
	// fragment, and with a port up to 65535 or none.
	absoluteReferer = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://@?(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::0*([0-9]{1,5}))?(?:[/?][!-"$-~]*)?$`)
	// relativeReferer is a reference without a scheme: there only the characters of URLs are taken.
	relativeReferer = regexp.MustCompile(`^[!$-;=?-Z_a-z~]*$`)
)

// refers reports whether Envoy lets a Referer through; others it drops before it looks for a route (measured on
// Envoy 1.40 with each character of ASCII at each place).
func refers(value string) bool {
	if first, _, _ := strings.Cut(value, "/"); !strings.Contains(first, ":") {
		return relativeReferer.MatchString(value)
	}
	part := absoluteReferer.FindStringSubmatch(value)
	return part != nil && (len(part[1]) < 5 || part[1] <= "65535")
}
