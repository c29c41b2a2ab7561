package contour

// The fields that tune and that weft does not carry: they are checked, so that a mistake
// is told before something carries them, and each has a warning.

// HealthCheckPolicy asks the endpoints of a route whether they are well.
type HealthCheckPolicy struct {
	Path                    string        `json:"path"`
	Host                    string        `json:"host,omitempty"`
	IntervalSeconds         int64         `json:"intervalSeconds,omitempty"`
	TimeoutSeconds          int64         `json:"timeoutSeconds,omitempty"`
	UnhealthyThresholdCount int64         `json:"unhealthyThresholdCount,omitempty"`
	HealthyThresholdCount   int64         `json:"healthyThresholdCount,omitempty"`
	ExpectedStatuses        []StatusRange `json:"expectedStatuses,omitempty"`
}

// StatusRange is the statuses from Start up to End, which is not among them.
type StatusRange struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// SlowStartPolicy gives a new endpoint its share little by little.
type SlowStartPolicy struct {
	Window           string  `json:"window"`
	Aggression       string  `json:"aggression,omitempty"`       // default 1.0
	MinWeightPercent *uint32 `json:"minWeightPercent,omitempty"` // default 10
}

// CookieRewritePolicy changes attributes of a cookie that an answer sets.
type CookieRewritePolicy struct {
	Name          string         `json:"name"`
	PathRewrite   *CookieRewrite `json:"pathRewrite,omitempty"`
	DomainRewrite *CookieRewrite `json:"domainRewrite,omitempty"`
	Secure        *bool          `json:"secure,omitempty"`
	SameSite      *string        `json:"sameSite,omitempty"` // Strict, Lax or None
}

// CookieRewrite is the new value of an attribute.
type CookieRewrite struct {
	Value string `json:"value"`
}

// GlobalRateLimit describes requests to a service that counts them for all proxies.
type GlobalRateLimit struct {
	Disabled    bool                  `json:"disabled,omitempty"`
	Descriptors []RateLimitDescriptor `json:"descriptors,omitempty"`
}

// RateLimitDescriptor is what requests are counted by, all of it together.
type RateLimitDescriptor struct {
	Entries []RateLimitEntry `json:"entries,omitempty"`
}

// RateLimitEntry is one part of it; exactly one field is set.
type RateLimitEntry struct {
	GenericKey              *GenericKey              `json:"genericKey,omitempty"`
	RequestHeader           *RequestHeaderKey        `json:"requestHeader,omitempty"`
	RequestHeaderValueMatch *RequestHeaderValueMatch `json:"requestHeaderValueMatch,omitempty"`
	RemoteAddress           *struct{}                `json:"remoteAddress,omitempty"`
}

// GenericKey is a key with a value of its own.
type GenericKey struct {
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
}

// RequestHeaderKey is a key with the value of a header.
type RequestHeaderKey struct {
	HeaderName    string `json:"headerName,omitempty"`
	DescriptorKey string `json:"descriptorKey,omitempty"`
}

// RequestHeaderValueMatch is a value for requests whose headers match, or do not.
type RequestHeaderValueMatch struct {
	Headers     []HeaderMatch `json:"headers,omitempty"`
	ExpectMatch *bool         `json:"expectMatch,omitempty"` // default true
	Value       string        `json:"value,omitempty"`
}

// TCPProxy takes whole connections of the host.
type TCPProxy struct {
	LoadBalancerPolicy *LoadBalancerPolicy   `json:"loadBalancerPolicy,omitempty"`
	Services           []Service             `json:"services,omitempty"`
	Include            *TCPProxyInclude      `json:"include,omitempty"`
	IncludesDeprecated *TCPProxyInclude      `json:"includes,omitempty"`
	HealthCheckPolicy  *TCPHealthCheckPolicy `json:"healthCheckPolicy,omitempty"`
}

// TCPProxyInclude names the object that has the services.
type TCPProxyInclude struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// TCPHealthCheckPolicy asks endpoints whether they take connections.
type TCPHealthCheckPolicy struct {
	IntervalSeconds         int64  `json:"intervalSeconds,omitempty"`
	TimeoutSeconds          int64  `json:"timeoutSeconds,omitempty"`
	UnhealthyThresholdCount uint32 `json:"unhealthyThresholdCount,omitempty"`
	HealthyThresholdCount   uint32 `json:"healthyThresholdCount,omitempty"`
}
