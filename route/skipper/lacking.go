package skipper

// The reasons that several filters share.
const (
	noQueryEdit  = "Envoy's routes do not edit queries"
	noHeaderEdit = "Envoy's routes write headers anew, and change no part of one; write setRequestHeader or setResponseHeader"
	clusterWide  = "weft's limits are counted by each proxy for itself"
	observes     = "weft's proxies observe requests in their own way"
	noEffectHere = "there is nothing for it to do"
	noBreaker    = "weft has no policy for breakers yet; bound requests by backendTimeout and ratelimit"
	noQueues     = "Envoy queues requests in another way"
	noBody       = "weft changes no bodies"
)

// lacking are those that weft ignores or refuses.
var lacking = []filter{
	{"flowId", "", observes, ignored, nil},
	{"xforward", "", observes, ignored, nil},
	{"tracingTag", "", observes, ignored, nil},
	{"tracingSpanName", "", observes, ignored, nil},
	{"tracingBaggageToTag", "", observes, ignored, nil},
	{"auditLog", "", observes, ignored, nil},
	{"unverifiedAuditLog", "", observes, ignored, nil},
	{"comment", "", noEffectHere, ignored, nil},
	{"annotate", "", noEffectHere, ignored, nil},
	{"originMarker", "", noEffectHere, ignored, nil},
	{"ratelimitFailClosed", "", "limits of a proxy do not fail", ignored, nil},

	{"opaAuthorizeRequestWithBody", "", "weft sends no bodies to the authorization service", 0, nil},
	{"jwtMetrics", "", "weft counts no tokens", 0, nil},
	{"forwardToken", "", "it hands on what an authorization found", 0, nil},
	{"forwardTokenField", "", "it hands on what an authorization found", 0, nil},
	{"setContextRequestHeader", "", "it hands on what another filter found", 0, nil},
	{"appendContextRequestHeader", "", "it hands on what another filter found", 0, nil},
	{"setContextResponseHeader", "", "it hands on what another filter found", 0, nil},
	{"appendContextResponseHeader", "", "it hands on what another filter found", 0, nil},
	{"bearerinjector", "", "it needs a secret of Skipper's", 0, nil},
	{"setDynamicBackendHost", "", "the rest of the address would be the request's; write setDynamicBackendUrl", 0, nil},
	{"setDynamicBackendScheme", "", "the rest of the address would be the request's; write setDynamicBackendUrl", 0, nil},
	{"setDynamicBackendHostFromHeader", "", "a backend that requests choose would open every address", 0, nil},
	{"setDynamicBackendSchemeFromHeader", "", "a backend that requests choose would open every address", 0, nil},
	{"setDynamicBackendUrlFromHeader", "", "a backend that requests choose would open every address", 0, nil},

	{"localRatelimit", "", "it is an older name; write clientRatelimit", 0, nil},
	{"clusterRatelimit", "", clusterWide, 0, nil},
	{"clusterClientRatelimit", "", clusterWide, 0, nil},
	{"clusterLeakyBucketRatelimit", "", clusterWide, 0, nil},
	{"backendRatelimit", "", clusterWide, 0, nil},
	{"admissionControl", "", noBreaker, 0, nil},
	{"consecutiveBreaker", "", noBreaker, 0, nil},
	{"rateBreaker", "", noBreaker, 0, nil},
	{"disableBreaker", "", noBreaker, 0, nil},
	{"lifo", "", noQueues, 0, nil},
	{"lifoGroup", "", noQueues, 0, nil},
	{"fifo", "", noQueues, 0, nil},
	{"fifoWithBody", "", noQueues, 0, nil},

	{"modRequestHeader", "", noHeaderEdit, 0, nil},
	{"modResponseHeader", "", noHeaderEdit, 0, nil},
	{"encodeRequestHeader", "", noHeaderEdit, 0, nil},
	{"encodeResponseHeader", "", noHeaderEdit, 0, nil},
	{"redirectToLower", "", "Envoy does not change the case of paths", 0, nil},
	{"setQuery", "", noQueryEdit, 0, nil},
	{"dropQuery", "", noQueryEdit, 0, nil},
	{"stripQuery", "", noQueryEdit, 0, nil},
	{"queryToHeader", "", noQueryEdit, 0, nil},
	{"dropRequestCookie", "", "Envoy's routes do not edit cookies of requests", 0, nil},
	{"dropResponseCookie", "", "Envoy's routes do not edit cookies of answers", 0, nil},
	{"requestCookie", "", "Envoy's routes do not edit cookies of requests", 0, nil},
	{"inlineContentIfStatus", "", noBody, 0, nil},
	{"lua", "", "weft runs no script of yours", 0, nil},
	{"static", "", "weft serves no files", 0, nil},
	{"sed", "", noBody, 0, nil},
	{"sedDelim", "", noBody, 0, nil},
	{"sedRequest", "", noBody, 0, nil},
	{"sedRequestDelim", "", noBody, 0, nil},
	{"blockContent", "", noBody, 0, nil},
	{"blockContentHex", "", noBody, 0, nil},
	{"wrapContent", "", noBody, 0, nil},
	{"wrapContentHex", "", noBody, 0, nil},
	{"cache", "", "weft keeps no answers", 0, nil},
	{"compress", "", "weft's proxies send answers as they are; let the backend compress them", 0, nil},
	{"decompress", "", "weft's proxies send answers as they are; drop the request's header Accept-Encoding, and the backend does not compress them", 0, nil},
	{"brotli", "", "weft's proxies send answers as they are; let the backend compress them", 0, nil},
	{"randomContent", "", noBody, 0, nil},
	{"chunks", "", noBody, 0, nil},
	{"bandwidth", "", noBody, 0, nil},
	{"backendLatency", "", "Envoy lets a request wait as a whole, and not its body; write latency", 0, nil},
	{"endpointCreated", "", "a proxy knows itself when an endpoint came; remove it", 0, nil},
	{"teeLoopback", "", "copies are not routed again", 0, nil},
	{"loopbackIfStatus", "", "Envoy does not route an answered request again", 0, nil},
	{"readTimeout", "", "Envoy has such a limit for a listener alone", 0, nil},
	{"writeTimeout", "", "Envoy has such a limit for a listener alone", 0, nil},
}
