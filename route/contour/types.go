package contour

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/redact"
)

// HTTPProxy is the spec of an HTTPProxy. Fields of type any are known and not carried
// yet: each is a warning, or an error where it protects.
type HTTPProxy struct {
	VirtualHost      *VirtualHost `json:"virtualhost,omitempty"`
	Routes           []Route      `json:"routes,omitempty"`
	Includes         []Include    `json:"includes,omitempty"`
	TCPProxy         *TCPProxy    `json:"tcpproxy,omitempty"`
	IngressClassName string       `json:"ingressClassName,omitempty"`

	read *parsed // what Default makes of the conditions
}

// VirtualHost makes an object a root.
type VirtualHost struct {
	FQDN            string           `json:"fqdn"` // a name, or *. and a name
	TLS             *TLS             `json:"tls,omitempty"`
	Authorization   any              `json:"authorization,omitempty"`
	CORSPolicy      *CORSPolicy      `json:"corsPolicy,omitempty"`
	RateLimitPolicy *RateLimitPolicy `json:"rateLimitPolicy,omitempty"`
	JWTProviders    any              `json:"jwtProviders,omitempty"`
	IPAllowPolicy   any              `json:"ipAllowPolicy,omitempty"`
	IPDenyPolicy    any              `json:"ipDenyPolicy,omitempty"`
}

// Include takes the routes of another object, under conditions.
type Include struct {
	Name       string      `json:"name"`
	Namespace  string      `json:"namespace,omitempty"` // default: that of the including object
	Conditions []Condition `json:"conditions,omitempty"`
	Condition  []Condition `json:"condition,omitempty"` // the design's conditions
	Match      *Match      `json:"match,omitempty"`
}

// Match holds conditions in examples of the design.
type Match struct {
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is one member of a list of conditions, all of which have to hold.
type Condition struct {
	Prefix         string          `json:"prefix,omitempty"`
	Exact          string          `json:"exact,omitempty"`
	Regex          string          `json:"regex,omitempty"`
	Path           string          `json:"path,omitempty"` // the design's exact
	Header         *HeaderMatch    `json:"header,omitempty"`
	QueryParameter *ParameterMatch `json:"queryParameter,omitempty"`
}

// DecodeRaw refuses unknown fields: left out, one would widen the match.
func (c *Condition) DecodeRaw(r decode.Raw) { r.DecodeStrictly(c) }

// HeaderMatch compares a header by one operator; an empty one is not set.
type HeaderMatch struct {
	Name                string `json:"name"`
	Present             bool   `json:"present,omitempty"`
	NotPresent          bool   `json:"notpresent,omitempty"`
	Contains            string `json:"contains,omitempty"`
	NotContains         string `json:"notcontains,omitempty"`
	IgnoreCase          bool   `json:"ignoreCase,omitempty"`
	Exact               string `json:"exact,omitempty"`
	NotExact            string `json:"notexact,omitempty"`
	Regex               string `json:"regex,omitempty"`
	TreatMissingAsEmpty bool   `json:"treatMissingAsEmpty,omitempty"`
}

// ParameterMatch compares a query parameter by one operator.
type ParameterMatch struct {
	Name       string `json:"name"`
	Exact      string `json:"exact,omitempty"`
	Prefix     string `json:"prefix,omitempty"`
	Suffix     string `json:"suffix,omitempty"`
	Regex      string `json:"regex,omitempty"`
	Contains   string `json:"contains,omitempty"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
	Present    bool   `json:"present,omitempty"`
}

// Route does one thing with the requests of which its conditions hold.
type Route struct {
	Conditions            []Condition           `json:"conditions,omitempty"`
	Condition             []Condition           `json:"condition,omitempty"`
	Match                 *Match                `json:"match,omitempty"`
	Services              []Service             `json:"services,omitempty"`
	EnableWebsockets      bool                  `json:"enableWebsockets,omitempty"`
	PermitInsecure        bool                  `json:"permitInsecure,omitempty"`
	TimeoutPolicy         *TimeoutPolicy        `json:"timeoutPolicy,omitempty"`
	RetryPolicy           *RetryPolicy          `json:"retryPolicy,omitempty"`
	RateLimitPolicy       *RateLimitPolicy      `json:"rateLimitPolicy,omitempty"`
	LoadBalancerPolicy    *LoadBalancerPolicy   `json:"loadBalancerPolicy,omitempty"`
	PathRewritePolicy     *PathRewritePolicy    `json:"pathRewritePolicy,omitempty"`
	RequestHeadersPolicy  *HeadersPolicy        `json:"requestHeadersPolicy,omitempty"`
	ResponseHeadersPolicy *HeadersPolicy        `json:"responseHeadersPolicy,omitempty"`
	RequestRedirectPolicy *RequestRedirect      `json:"requestRedirectPolicy,omitempty"`
	DirectResponsePolicy  *DirectResponsePolicy `json:"directResponsePolicy,omitempty"`
	HealthCheckPolicy     *HealthCheckPolicy    `json:"healthCheckPolicy,omitempty"`
	InternalRedirect      any                   `json:"internalRedirectPolicy,omitempty"`
	CookieRewritePolicies []CookieRewritePolicy `json:"cookieRewritePolicies,omitempty"`
	AuthPolicy            any                   `json:"authPolicy,omitempty"`
	JWTVerification       any                   `json:"jwtVerificationPolicy,omitempty"`
	IPAllowPolicy         any                   `json:"ipAllowPolicy,omitempty"`
	IPDenyPolicy          any                   `json:"ipDenyPolicy,omitempty"`
}

// Service is a backend, or gets copies of the requests.
type Service struct {
	Name                  string                `json:"name"`
	Port                  int64                 `json:"port"`
	Weight                uint32                `json:"weight,omitempty"`
	Mirror                bool                  `json:"mirror,omitempty"`
	Protocol              string                `json:"protocol,omitempty"`
	RequestHeadersPolicy  *HeadersPolicy        `json:"requestHeadersPolicy,omitempty"`
	ResponseHeadersPolicy *HeadersPolicy        `json:"responseHeadersPolicy,omitempty"`
	HealthPort            *int64                `json:"healthPort,omitempty"`
	CookieRewritePolicies []CookieRewritePolicy `json:"cookieRewritePolicies,omitempty"`
	SlowStartPolicy       *SlowStartPolicy      `json:"slowStartPolicy,omitempty"`
	Validation            any                   `json:"validation,omitempty"`
}

// HeadersPolicy changes headers.
type HeadersPolicy struct {
	Set    []HeaderValue `json:"set,omitempty"`
	Remove []string      `json:"remove,omitempty"`
}

// HeaderValue is a header with its value.
type HeaderValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// PathRewritePolicy changes the path that services see.
type PathRewritePolicy struct {
	ReplacePrefix []ReplacePrefix `json:"replacePrefix,omitempty"`
}

// ReplacePrefix is one replacement; one without a prefix is for every other prefix.
type ReplacePrefix struct {
	Prefix      string `json:"prefix,omitempty"`
	Replacement string `json:"replacement"`
}

// RequestRedirect answers with a location.
type RequestRedirect struct {
	Scheme     string  `json:"scheme,omitempty"`
	Hostname   string  `json:"hostname,omitempty"`
	Port       *int64  `json:"port,omitempty"`
	StatusCode *uint32 `json:"statusCode,omitempty"` // default 302
	Path       string  `json:"path,omitempty"`
	Prefix     string  `json:"prefix,omitempty"`
}

// DirectResponsePolicy answers by itself.
type DirectResponsePolicy struct {
	StatusCode uint32 `json:"statusCode"`
	Body       string `json:"body,omitempty"`
}

// TimeoutPolicy bounds requests in time.
type TimeoutPolicy struct {
	Response       string `json:"response,omitempty"`
	Idle           string `json:"idle,omitempty"`
	IdleConnection string `json:"idleConnection,omitempty"`
}

// RetryPolicy says when and how often a request is sent again.
type RetryPolicy struct {
	Count                *int64   `json:"count,omitempty"`
	PerTryTimeout        string   `json:"perTryTimeout,omitempty"`
	RetryOn              []string `json:"retryOn,omitempty"`
	RetriableStatusCodes []uint32 `json:"retriableStatusCodes,omitempty"`
}

// RateLimitPolicy limits requests.
type RateLimitPolicy struct {
	Local  *LocalRateLimit  `json:"local,omitempty"`
	Global *GlobalRateLimit `json:"global,omitempty"`
}

// LocalRateLimit is a limit that each proxy counts for itself.
type LocalRateLimit struct {
	Requests             uint32        `json:"requests"`
	Unit                 string        `json:"unit"`
	Burst                uint32        `json:"burst,omitempty"`
	ResponseStatusCode   uint32        `json:"responseStatusCode,omitempty"` // default 429
	ResponseHeadersToAdd []HeaderValue `json:"responseHeadersToAdd,omitempty"`
}

// LoadBalancerPolicy chooses among the endpoints of a service.
type LoadBalancerPolicy struct {
	Strategy            string              `json:"strategy,omitempty"`
	RequestHashPolicies []RequestHashPolicy `json:"requestHashPolicies,omitempty"`
}

// RequestHashPolicy is what a request is told apart by; exactly one of the three is set.
type RequestHashPolicy struct {
	Terminal              bool                   `json:"terminal,omitempty"`
	HeaderHashOptions     *HeaderHashOptions     `json:"headerHashOptions,omitempty"`
	QueryParameterOptions *QueryParameterOptions `json:"queryParameterHashOptions,omitempty"`
	HashSourceIP          bool                   `json:"hashSourceIP,omitempty"`
}

// HeaderHashOptions name a header.
type HeaderHashOptions struct {
	HeaderName string `json:"headerName,omitempty"`
}

// QueryParameterOptions name a query parameter.
type QueryParameterOptions struct {
	ParameterName string `json:"parameterName,omitempty"`
}

// Validate wants a host that is a name. All else that may be wrong is said in the
// status, as its readers know it.
func (p *HTTPProxy) Validate(at api.Path) error {
	if p.VirtualHost == nil || p.VirtualHost.FQDN == "" || hostName.MatchString(p.VirtualHost.FQDN) && len(p.VirtualHost.FQDN) <= 253 {
		return nil
	}
	return at.Field("virtualhost").Field("fqdn").Breaks("%q is no name of a host; use lower-case letters, digits, - and dots, with *. in front for every name below it",
		redact.Clip(p.VirtualHost.FQDN))
}
