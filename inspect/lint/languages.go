package lint

// ofGateway are codes of the Gateway API.
var ofGateway = []CodeInfo{
	told("HostnameConflict", "Two listeners have one host", "Neither is served.", "Change the host or the port of one."),
	told("InvalidKind", "A kind is not possible here", "The reference leads nowhere.", "Name a kind that the message lists."),
	told("InvalidParameters", "Parameters of a Gateway cannot be used", "The Gateway is not served.", "Remove them."),
	told("InvalidRouteKinds", "A listener allows kinds of routes that it cannot have", "Those have no effect.", "Name kinds that fit its protocol."),
	told("ListenersNotValid", "A Gateway has listeners that are not served", "Clients are not let in there.", "The message names each."),
	told("NoMatchingListenerHostname", "No listener has a host of the route", "The route has no effect.", "Write a host that a listener has."),
	told("NoMatchingParent", "A parent has no such listener or port", "The route has no effect there.", "Name a `sectionName` or `port` that it has."),
	told("NoParent", "A route names no parent", "It has no effect.", "Write `parentRefs`."),
	told("NotAllowedByListeners", "No listener lets the route in", "The route has no effect.", "Let its namespace or kind in by `allowedRoutes`."),
	told("OnlyOneMirror", "A rule mirrors more than once", "The first mirror holds.", "Remove the others."),
	told("PortNotFound", "A backend has no such port", "Requests to it are answered with 500.", "Name a port that the Service has."),
	told("ProtocolConflict", "Two listeners of one port speak different protocols", "Neither is served.", "Give one another port."),
	told("RefNotPermitted", "A reference to another namespace is not permitted", "It leads nowhere.", "Write a ReferenceGrant there."),
	told("UnmanagedClass", "A Gateway is of another controller", "weft leaves it alone.", "Name the class of weft, if weft is meant."),
	told("UnmanagedParent", "A route has a parent that weft does not serve", "It has no effect there.", "Name a Service, or a Gateway of weft."),
}

// ofHTTPProxy are codes of HTTPProxy, in Contour's words where it has any.
var ofHTTPProxy = []CodeInfo{
	told("AmbiguousReplacement", "A prefix is replaced in two ways", "None is applied.", "Write one replacement for a prefix."),
	told("CookieRewritePoliciesInvalid", "Rules for cookies contradict", "The route is not served.", "Write each attribute once."),
	told("DelegationNotPermitted", "A Secret of another namespace is not delegated", "The host is not served by TLS.", "Write a TLSCertificateDelegation there."),
	told("DeprecatedField", "A field is an older form", "It is read; the newer one counts more.", "Write the newer one."),
	told("DirectResponsePolicy", "A direct response is not possible", "The route is not served.", "The message says what is wrong."),
	told("DuplicateVhost", "Two roots have one host", "Neither is served.", "Include one in the other."),
	told("FallbackNotPresent", "There is no fallback certificate", "Clients without SNI are not let in.", "Leave it out, or write one."),
	told("HeaderMatchConditionsNotValid", "Conditions on headers contradict", "The route is not served.", "Remove one of them."),
	told("HealthCheckPolicyInvalid", "A health check is not possible", "It is not applied.", "The message says what is wrong."),
	told("IgnoredField", "A field has no effect here", "It tunes and does not protect, so the route is served without it.", "Leave it out."),
	told("MustHavePrefix", "A replacement needs a prefix", "It is not applied.", "Write the prefix."),
	told("NothingDefined", "A proxy says nothing", "It is not served.", "Write routes, includes or a tcpproxy."),
	told("Orphaned", "No root includes a proxy", "It is not served.", "Include it, or give it a host."),
	told("PathMatchConditionsNotValid", "Conditions on paths contradict", "The route is not served.", "Write one path for a route."),
	told("PolicyDidNotParse", "A policy cannot be read", "The route is not served.", "The message says what is wrong."),
	told("QueryParameterMatchConditionsNotValid", "Conditions on query parameters contradict", "The route is not served.", "Remove one of them."),
	told("RateLimitPolicyNotValid", "A rate limit is not possible", "It is not applied.", "The message says what is wrong."),
	told("ReplacementNotValid", "A replacement is not possible", "It is not applied.", "The message says what is wrong."),
	told("RequestRedirectPolicy", "A redirect is not possible", "The route is not served.", "The message says what is wrong."),
	told("RetryPolicyNotValid", "A retry policy is not possible", "It is not applied.", "The message says what is wrong."),
	told("RootProxyNotAllowedInNamespace", "A root may not be in this namespace", "It is not served.", "Move it, or name the namespace by `--httpproxy-root-namespaces`."),
	told("RouteActionCountNotValid", "A route does several things at once", "It is not served.", "Write services, a redirect or a direct response."),
	told("SecretNotValid", "A Secret holds no certificate", "The host is not served by TLS.", "Name a Secret of type kubernetes.io/tls."),
	told("ServicePortInvalid", "A service has no such port", "Requests to it are answered with 500.", "Name a port that the Service has."),
	told("SlowStartInvalid", "A slow start is not possible", "It is not applied.", "The message says what is wrong."),
	told("TLSConfigNotValid", "TLS is not possible as it is written", "The host is not served by TLS.", "The message says what is wrong."),
	told("TimeoutPolicyNotValid", "A timeout is not possible", "It is not applied.", "Write a duration, as 1s."),
	told("UnsupportedField", "weft does not carry a field out", "It is left out.", "Leave it out, or say it by a policy."),
	told("UnsupportedSecurityField", "weft does not carry out what protects", "The route is refused rather than served without it.", "Protect it otherwise, or leave it out."),
}

// ofRouteGroup are codes of RouteGroup.
var ofRouteGroup = []CodeInfo{
	told("Ambiguous", "Two routes match alike", "Which one holds is decided by their order.", "Make one more specific, or give it a weight."),
	told("DraftDialect", "The document is in a form of the draft", "It is read as the form of today.", "Write that; the message says how."),
	told("FilterOrder", "Filters act in another order than written", "Envoy has an order of its own.", "Write them in that order, or split the route."),
	told("InvalidEskip", "A predicate or filter cannot be read", "The route is refused.", "Correct it at the place."),
	told("InvalidSpec", "The document contradicts itself", "It is refused.", "The message says what is wrong."),
	told("RoughShares", "Shares of traffic are rough", "Envoy counts in parts of a million.", "Nothing, unless such shares matter."),
	told("UnsupportedBackend", "weft does not carry a backend out", "The route is refused.", "Name a service."),
	told("UnsupportedFilter", "weft does not carry a filter out", "Where it protects the route is refused; else it is left out.", "Leave it out, or say it by a policy."),
	told("UnsupportedPredicate", "weft does not carry a predicate out", "The route is refused: without it, it would take more requests.", "Leave it out, or match otherwise."),
}

// ofConvert are codes of weft convert, and of what is printed in another language.
var ofConvert = []CodeInfo{
	told("ActionNotExpressible", "The language cannot say an action", "What is written does something else.", "Write it by hand, or stay with the language."),
	told("BackendNotExpressible", "The language cannot say a backend", "What is written does something else.", "Write it by hand, or stay with the language."),
	told("CertificateNotExpressible", "A certificate has to be named elsewhere", "What is written is for clients that speak TLS, whose certificate the listener of a Gateway names.", "Name the Secret in certificateRefs of the listener."),
	told("FilterNotExpressible", "The language cannot say a filter", "What is written does something else.", "Write it by hand, or stay with the language."),
	told("MatchNotExpressible", "The language cannot say a match", "What is written matches something else.", "Write it by hand, or stay with the language."),
	told("PartNotExpressible", "The language cannot say a part", "What is written does something else.", "Write it by hand, or stay with the language."),
	told("PlaceNotExpressible", "The language cannot say where a route is", "What is written is elsewhere.", "Write it by hand, or stay with the language."),
}
