package redact

import (
	"slices"
	"strings"
)

// secretHeaders hold what proves who somebody is (spec/kinds.md 0.5).
var secretHeaders = []string{"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-forwarded-client-cert"}

// SecretHeader reports whether the value of a header is nobody's to keep.
func SecretHeader(name string) bool { return slices.Contains(secretHeaders, strings.ToLower(name)) }
