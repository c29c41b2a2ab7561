package route

import (
	"strconv"
	"strings"
)

// Authorization is asked of the one authorization service of the control plane before
// a request does anything else but count for limits: what the service refuses is
// answered as it says, and without an answer of it nothing passes. A rule on a host
// may have several; the service is asked for all of them at once.
type Authorization struct {
	Name string   `json:"name"`           // of the check that is wanted, as the dialect's documents call it
	Args []string `json:"args,omitempty"` // what it is to check
}

// Authorizations are those among filters, in their order.
func Authorizations(filters []Filter) []*Authorization {
	var out []*Authorization
	for i := range filters {
		if a := filters[i].Authorization; a != nil {
			out = append(out, a)
		}
	}
	return out
}

// String is the check as a call.
func (a *Authorization) String() string {
	args := make([]string, len(a.Args))
	for i, s := range a.Args {
		args[i] = strconv.Quote(s)
	}
	return a.Name + "(" + strings.Join(args, ", ") + ")"
}
