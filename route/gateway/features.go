package gateway

// Feature is one feature of the conformance tests of the Gateway API, and what weft
// makes of it.
type Feature struct {
	Name string
	// Support is yes, no, or in part; Why says what is different, or why not.
	Support, Why string
}

// What weft makes of a feature.
const (
	Supported   = "yes"
	InPart      = "in part"
	Unsupported = "no"
)

const (
	noGateways = "weft serves no Gateways yet; the route says so in its status"
	viaMesh    = "at Services"
	otherKind  = "weft does not read documents of this kind; they are refused"
)

// Features are all features of the release of the Gateway API whose types weft reads,
// by name.
var Features = []Feature{
	{"BackendTLSPolicy", Unsupported, otherKind},
	{"BackendTLSPolicySANValidation", Unsupported, otherKind},
	{"GRPCRoute", Supported, viaMesh},
	{"GRPCRouteNamedRouteRule", Supported, "policies name a rule by `sectionName`"},
	{"Gateway", Unsupported, noGateways},
	{"GatewayAddressEmpty", Unsupported, noGateways},
	{"GatewayBackendClientCertificate", Unsupported, noGateways},
	{"GatewayFrontendClientCertificateValidation", Unsupported, noGateways},
	{"GatewayFrontendClientCertificateValidationInsecureFallback", Unsupported, noGateways},
	{"GatewayHTTPListenerIsolation", Unsupported, noGateways},
	{"GatewayHTTPSListenerDetectMisdirectedRequests", Unsupported, noGateways},
	{"GatewayInfrastructure", Unsupported, noGateways},
	{"GatewayPort8080", Unsupported, noGateways},
	{"GatewayStaticAddresses", Unsupported, noGateways},
	{"HTTPRoute", Supported, viaMesh},
	{"HTTPRoute303RedirectStatusCode", Supported, viaMesh},
	{"HTTPRoute307RedirectStatusCode", Supported, viaMesh},
	{"HTTPRoute308RedirectStatusCode", Supported, viaMesh},
	{"HTTPRouteBackendProtocolH2C", Supported, "a port with `appProtocol: kubernetes.io/h2c` is called by HTTP/2"},
	{"HTTPRouteBackendProtocolWebSocket", Supported, "WebSockets pass every rule that forwards"},
	{"HTTPRouteBackendRequestHeaderModification", Supported, "and of answers, and the host"},
	{"HTTPRouteBackendTimeout", Supported, "without `retry` the one attempt is the request, so the shorter of both timeouts holds"},
	{"HTTPRouteCORS", Unsupported, "what passes the filter is answered 500, and the route says so in its status"},
	{"HTTPRouteDestinationPortMatching", Supported, viaMesh},
	{"HTTPRouteHostRewrite", Supported, viaMesh},
	{"HTTPRouteMethodMatching", Supported, viaMesh},
	{"HTTPRouteNamedRouteRule", Supported, "policies name a rule by `sectionName`"},
	{"HTTPRouteParentRefPort", Supported, viaMesh},
	{"HTTPRoutePathRedirect", Supported, viaMesh},
	{"HTTPRoutePathRewrite", Supported, viaMesh},
	{"HTTPRoutePortRedirect", Supported, viaMesh},
	{"HTTPRouteQueryParamMatching", Supported, "of a parameter that a request repeats the first counts"},
	{"HTTPRouteRequestMirror", Supported, viaMesh},
	{"HTTPRouteRequestMultipleMirrors", Supported, viaMesh},
	{"HTTPRouteRequestPercentageMirror", Supported, "several mirrors of a rule copy the same requests, as far as their parts reach: Envoy draws once for a request"},
	{"HTTPRouteRequestTimeout", Supported, "0s is no timeout, and differs from none given"},
	{"HTTPRouteResponseHeaderModification", Supported, viaMesh},
	{"HTTPRouteRetry", Supported, "`backoff` is the longest first pause: Envoy draws each pause between 0 and it, so it may undercut the minimum"},
	{"HTTPRouteRetryBackendTimeout", Supported, viaMesh},
	{"HTTPRouteRetryConnectionError", Supported, viaMesh},
	{"HTTPRouteSchemeRedirect", Supported, viaMesh},
	{"ListenerSet", Unsupported, noGateways},
	{"Mesh", Supported, ""},
	{"MeshClusterIPMatching", Supported, "the address decides, whatever the `Host` says"},
	{"MeshConsumerRoute", Supported, ""},
	{"MeshHTTPRouteBackendRequestHeaderModification", Supported, ""},
	{"MeshHTTPRouteNamedRouteRule", Supported, ""},
	{"MeshHTTPRouteQueryParamMatching", Supported, ""},
	{"MeshHTTPRouteRedirectPath", Supported, ""},
	{"MeshHTTPRouteRedirectPort", Supported, ""},
	{"MeshHTTPRouteRewritePath", Supported, ""},
	{"MeshHTTPRouteSchemeRedirect", Supported, "to https from a port other than 80 the location names :443, for Envoy would keep the port that the client wrote"},
	{"ReferenceGrant", InPart, "documents are read; routes with Service parents need none (GEP-1294), and Gateways are not served yet"},
	{"TCPRoute", Unsupported, otherKind + "; write a MeshTCPRoute"},
	{"TLSRoute", Unsupported, otherKind},
	{"TLSRouteModeMixed", Unsupported, otherKind},
	{"TLSRouteModeTerminate", Unsupported, otherKind},
	{"UDPRoute", Unsupported, otherKind},
}
