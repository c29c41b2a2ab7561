package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/wire"
)

// The answers of an authorization service beside a status with which it refuses.
const (
	authorized        = "allow"
	withoutAuthorizer = "down"
)

// checkAuthz wants an answer of an authorization service, or nothing.
func checkAuthz(text string) error {
	if text == "" || text == authorized || text == withoutAuthorizer {
		return nil
	}
	if n, err := strconv.ParseUint(text, 10, 32); err != nil || n < 200 || n > 599 {
		return fmt.Errorf("authz: %q is no answer of the authorization service; write allow, down, or the status with which it refuses, as 403", redact.Clip(text))
	}
	return nil
}

// denied is the status with which rt answers c because of the authorization service; 0
// where it lets c pass.
func denied(c *wire.Call, rt *effective.Route) uint32 {
	if c.Authz == "" || c.Authz == authorized || len(route.Authorizations(rt.Filters)) == 0 {
		return 0
	}
	if c.Authz == withoutAuthorizer {
		return http.StatusServiceUnavailable
	}
	n, _ := strconv.ParseUint(c.Authz, 10, 32) // checkAuthz has read it
	return uint32(n)
}

// deny is what becomes of c where rt asks and the service does not let it pass: the
// proxy answers, with the header changes of a route that forwards; Envoy makes none
// where the route would answer itself (measured on 1.40).
func deny(c *wire.Call, from *effective.Resolved, spoken api.Protocol, rt *effective.Route, status uint32) Branch {
	b := respond(c, status)
	if forwards(rt) {
		b.ResponseHeaders = wire.ResponseChanges(rt.Changes(), c.Filling(nil))
		b.answers(b.ResponseHeaders)
	}
	b.Policies, b.unknown = RoutePolicies(from, rt, spoken), c.Doubts
	b.Route, b.Authorization = routeOf(rt), route.Authorizations(rt.Filters)
	return b
}

// asks notes what rt asks the service, and that nobody said what it answers.
func (b *Branch) asks(rt *effective.Route, c *wire.Call) {
	b.Authorization = route.Authorizations(rt.Filters)
	if c.Authz != "" || len(b.Authorization) == 0 {
		return
	}
	names := make([]string, len(b.Authorization))
	for i, a := range b.Authorization {
		names[i] = a.String()
	}
	b.unknown = append(b.unknown, "authorization: the service decides "+strings.Join(names, " and ")+"; shown is what happens to a request that it lets pass as it is")
}
