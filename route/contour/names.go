package contour

import "regexp"

const label = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`

var (
	hostName = regexp.MustCompile(`^(\*\.)?` + label + `(\.` + label + `)*$`)
	// plainPath is a path without a query.
	plainPath = regexp.MustCompile(`^/[^?#]*$`)
)

// hostValue is a host that a request may be sent to, with its port.
var hostValue = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]+)?$`)
