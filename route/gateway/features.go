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
	noClients = "weft checks no certificates of clients yet; with `spec.tls.frontend` listeners for HTTPS are closed, and say so in their status"
	ownEdges  = "edge workloads and their addresses are yours: weft makes none for a Gateway, and says so"
	everyKind = "at Services and Gateways"
	otherKind = "weft does not read documents of this kind; they are refused"
)

// Features are all features of the release of the Gateway API whose types weft reads,
// by name.
var Features = []Feature{
	{"BackendTLSPolicy", Unsupported, otherKind},
	{"BackendTLSPolicySANValidation", Unsupported, otherKind},
	{"GRPCRoute", Supported, everyKind},
	{"GRPCRouteNamedRouteRule", Supported, "policies name a rule by `sectionName`"},
	{"Gateway", Supported, "listeners for HTTP, HTTPS, TLS and TCP; one for UDP says in its status that it is not served"},
	{"GatewayAddressEmpty", Unsupported, ownEdges},
	{"GatewayBackendClientCertificate", Unsupported, "weft shows no certificate of the Gateway to backends; a warning"},
	{"GatewayFrontendClientCertificateValidation", Unsupported, noClients},
	{"GatewayFrontendClientCertificateValidationInsecureFallback", Unsupported, noClients},
	{"GatewayHTTPListenerIsolation", Supported, "a request comes to the listener with the nearest hostname, and to no other"},
	{"GatewayHTTPSListenerDetectMisdirectedRequests", Supported, "421 where another listener has the host, 404 where none has"},
	{"GatewayInfrastructure", Unsupported, ownEdges},
	{"GatewayPort8080", Supported, ""},
	{"GatewayStaticAddresses", Unsupported, ownEdges},
	{"HTTPRoute", Supported, everyKind},
	{"HTTPRoute303RedirectStatusCode", Supported, everyKind},
	{"HTTPRoute307RedirectStatusCode", Supported, everyKind},
	{"HTTPRoute308RedirectStatusCode", Supported, everyKind},
	{"HTTPRouteBackendProtocolH2C", Supported, "a port with `appProtocol: kubernetes.io/h2c` is called by HTTP/2"},
	{"HTTPRouteBackendProtocolWebSocket", Supported, "WebSockets pass every rule that forwards"},
	{"HTTPRouteBackendRequestHeaderModification", Supported, "and of answers, and the host"},
	{"HTTPRouteBackendTimeout", Supported, "without `retry` the one attempt is the request, so the shorter of both timeouts holds"},
	{"HTTPRouteCORS", Supported, "a preflight of another origin is answered 200 without Access-Control-Allow-Origin; what a backend says about CORS itself is taken away"},
	{"HTTPRouteDestinationPortMatching", Supported, everyKind},
	{"HTTPRouteHostRewrite", Supported, everyKind},
	{"HTTPRouteMethodMatching", Supported, everyKind},
	{"HTTPRouteNamedRouteRule", Supported, "policies name a rule by `sectionName`"},
	{"HTTPRouteParentRefPort", Supported, everyKind},
	{"HTTPRoutePathRedirect", Supported, everyKind},
	{"HTTPRoutePathRewrite", Supported, everyKind},
	{"HTTPRoutePortRedirect", Supported, everyKind},
	{"HTTPRouteQueryParamMatching", Supported, "of a parameter that a request repeats the first counts"},
	{"HTTPRouteRequestMirror", Supported, everyKind},
	{"HTTPRouteRequestMultipleMirrors", Supported, everyKind},
	{"HTTPRouteRequestPercentageMirror", Supported, "several mirrors of a rule copy the same requests, as far as their parts reach: Envoy draws once for a request"},
	{"HTTPRouteRequestTimeout", Supported, "0s is no timeout, and differs from none given"},
	{"HTTPRouteResponseHeaderModification", Supported, everyKind},
	{"HTTPRouteRetry", Supported, "`backoff` is the longest first pause: Envoy draws each pause between 0 and it, so it may undercut the minimum"},
	{"HTTPRouteRetryBackendTimeout", Supported, everyKind},
	{"HTTPRouteRetryConnectionError", Supported, everyKind},
	{"HTTPRouteSchemeRedirect", Supported, everyKind},
	{"ListenerSet", Unsupported, otherKind},
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
	{"ReferenceGrant", Supported, "at Gateways; refs of routes with Service parents need none (GEP-1294), unless `--require-reference-grants` is set"},
	{"TCPRoute", Supported, everyKind},
	{"TLSRoute", Supported, everyKind},
	{"TLSRouteModeMixed", Supported, "listeners of both modes, and those for HTTPS, may share a port"},
	{"TLSRouteModeTerminate", Supported, "backends get plaintext: there is no BackendTLSPolicy"},
	{"UDPRoute", Unsupported, otherKind},
}
