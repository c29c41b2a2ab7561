package skipper

import "github.com/weftmesh/weft/route"

const (
	tokenCheck  = "an external token check"
	authService = "an external authorization"
)

// guarding are those that the authorization service decides: it is asked with their
// name and arguments, and what they mean is its own.
var guarding = []filter{
	{"oauthTokeninfoAllScope", "string string...", tokenCheck, everywhere | guards, authorize},
	{"oauthTokeninfoAnyScope", "string string...", tokenCheck, everywhere | guards, authorize},
	{"oauthTokeninfoAllKV", "string string string...", tokenCheck, everywhere | guards, authorizePairs},
	{"oauthTokeninfoAnyKV", "string string string...", tokenCheck, everywhere | guards, authorizePairs},
	{"oauthTokeninfoValidate", "string...", tokenCheck, everywhere | guards, authorize},
	{"oauthTokenintrospectionAnyClaims", "string...", tokenCheck, everywhere | guards, authorize},
	{"oauthTokenintrospectionAllClaims", "string...", tokenCheck, everywhere | guards, authorize},
	{"oauthTokenintrospectionAnyKV", "string...", tokenCheck, everywhere | guards, authorize},
	{"oauthTokenintrospectionAllKV", "string...", tokenCheck, everywhere | guards, authorize},
	{"secureOauthTokenintrospectionAnyClaims", "string...", tokenCheck, everywhere | guards, authorize},
	{"secureOauthTokenintrospectionAllClaims", "string...", tokenCheck, everywhere | guards, authorize},
	{"secureOauthTokenintrospectionAnyKV", "string...", tokenCheck, everywhere | guards, authorize},
	{"secureOauthTokenintrospectionAllKV", "string...", tokenCheck, everywhere | guards, authorize},
	{"oauthOidcUserInfo", "string...", tokenCheck, everywhere | guards, authorize},
	{"oauthOidcAnyClaims", "string...", tokenCheck, everywhere | guards, authorize},
	{"oauthOidcAllClaims", "string...", tokenCheck, everywhere | guards, authorize},
	{"oidcClaimsQuery", "string...", tokenCheck, everywhere | guards, authorize},
	{"oauthGrant", "string...", tokenCheck, everywhere | guards, authorize},
	{"grantCallback", "string...", tokenCheck, everywhere | guards, authorize},
	{"grantLogout", "string...", tokenCheck, everywhere | guards, authorize},
	{"grantClaimsQuery", "string...", tokenCheck, everywhere | guards, authorize},
	{"jwtValidation", "string...", tokenCheck, everywhere | guards, authorize},
	{"basicAuth", "string...", authService, everywhere | guards, authorize},
	{"opaAuthorizeRequest", "string...", authService, everywhere | guards, authorize},
	{"opaServeResponse", "string...", authService, everywhere | guards, authorize},
	{"webhook", "string...", authService, everywhere | guards, authorize},
	{"mtlsSubject", "string...", authService, everywhere | guards, authorize},
}

func authorize(c *call, e *effect) error {
	e.add(c, route.Filter{Authorization: &route.Authorization{Name: c.Name, Args: c.texts(0)}})
	return nil
}

// authorizePairs wants names and values in turn.
func authorizePairs(c *call, e *effect) error {
	if len(c.Args)%2 != 0 {
		return c.wrong("%d arguments are no pairs; write a name and a value in turn", len(c.Args))
	}
	return authorize(c, e)
}
