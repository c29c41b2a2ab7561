package contour

import (
	"github.com/weftmesh/weft/api"
)

// lack is a field that weft reads and does not carry.
type lack struct {
	field    string // its last name
	protects bool   // it keeps requests out: without it nothing is served
	why      string // for the page for users
}

// lacking are all of them.
var lacking = []lack{
	{"passthrough", true, "of `virtualhost.tls`: TLS ends at the edge"},
	{"clientValidation", true, "of `virtualhost.tls`: no client is asked for a certificate"},
	{"authorization", true, "there is no ExtensionService to ask"},
	{"authPolicy", true, "as `authorization`"},
	{"jwtProviders", true, "no token is verified"},
	{"jwtVerificationPolicy", true, "as `jwtProviders`"},
	{"ipAllowPolicy", true, "addresses are not looked at, on the host and on routes"},
	{"ipDenyPolicy", true, "as `ipAllowPolicy`"},
	{"validation", true, "of a service, and `protocol` `tls` or `h2` (HTTP/2 in TLS): nothing is encrypted to a service of the mesh by a route"},
	{"tcpproxy", false, "whole connections of a host are not built yet; checked: `TCPProxyError` with `TLSMustBeConfigured`, `NoServicesAndInclude` or `NothingDefined`"},
	{"allowPrivateNetwork", false, "of `corsPolicy`: not built yet"},
	{"healthCheckPolicy", false, "not built yet; checked: `RouteError/HealthCheckPolicyInvalid`"},
	{"internalRedirectPolicy", false, "not built yet"},
	{"cookieRewritePolicies", false, "on routes and services: not built yet; checked: `RouteError/CookieRewritePoliciesInvalid`"},
	{"healthPort", false, "health checks are not built yet; checked: `ServiceError/ServicePortInvalid`"},
	{"global", false, "of `rateLimitPolicy`: there is no service that counts for all proxies; checked: `RateLimitPolicyNotValid`"},
}

// given is such a field, and whether a document has it.
type given struct {
	name string
	is   bool
}

// without says of fields at at that weft does not carry them: one that protects takes
// the routes away with it.
func without(r *report, at api.Path, fields ...given) {
	for _, f := range fields {
		switch {
		case !f.is:
		case lackOf(f.name).protects:
			r.fails(routeError, unprotected, at.Field(f.name), "protects the routes, and weft cannot do that yet, so they are not served; remove it if they may be served without")
		default:
			r.warns(specError, unsupported, at.Field(f.name), "is not supported yet and has no effect; remove it")
		}
	}
}

// lackOf is what is said of a field, which must be in the table.
func lackOf(field string) *lack {
	for i := range lacking {
		if lacking[i].field == field {
			return &lacking[i]
		}
	}
	panic("nobody says why weft does not carry " + field)
}
