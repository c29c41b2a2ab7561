package route

import (
	"fmt"
	"slices"
)

// Unserved is why requests of a rule that only sends to backends all fail, as it is written, and what
// becomes of them: for Rule.Unserved.
func Unserved(backends []BackendRef, what string) string {
	switch {
	case len(backends) == 0:
		return fmt.Sprintf("it has no backend, so %s; write backendRefs, or remove the rule", what)
	case !slices.ContainsFunc(backends, func(b BackendRef) bool { return b.Weight > 0 }):
		return fmt.Sprintf("the weights of all its backends are 0, so %s; write a weight above 0, or remove the rule", what)
	}
	return ""
}

// The ends of requests and connections that nobody takes.
const (
	EachAnswered = "every request is answered with %d"
	EachClosed   = "every connection is closed"
)
