// Package unsupported knows the kinds of documents that weft does not have: those of Kuma that it lacks, and those of
// other programs that may keep somebody out.
package unsupported

import (
	"maps"
	"slices"
)

// CodeUnsupportedKind marks documents of a kind that weft does not have.
const CodeUnsupportedKind = "UnsupportedKind"

// CodeForeignKind marks documents of Kubernetes that are for other programs.
const CodeForeignKind = "ForeignKind"

// protectiveKinds are kinds of other programs that keep callers out or secure what is sent: what they
// ask for is missed where only weft looks.
var protectiveKinds = map[string]bool{
	"AuthorizationPolicy": true, "PeerAuthentication": true, "RequestAuthentication": true, "SecurityPolicy": true, "BackendTLSPolicy": true,
	"NetworkPolicy": true, "AdminNetworkPolicy": true, "BaselineAdminNetworkPolicy": true, "CiliumNetworkPolicy": true, "CiliumClusterwideNetworkPolicy": true,
	"GlobalNetworkPolicy": true, "Server": true, "ServerAuthorization": true, "MeshTLSAuthentication": true, "NetworkAuthentication": true,
	"HTTPLocalRateLimitPolicy": true, "DestinationRule": true, "ClientTrafficPolicy": true, "BackendTrafficPolicy": true, "EnvoyFilter": true,
	"WasmPlugin": true, "ExtensionService": true, "EnvoyExtensionPolicy": true,
}

// Protective reports whether documents of a kind of another program may keep somebody out.
func Protective(kind string) bool { return protectiveKinds[kind] }

// unsupportedKinds are Kuma's kinds that weft lacks. Some of them protect, so they
// are never accepted in silence.
var unsupportedKinds = map[string]bool{
	"MeshProxyPatch": true, "MeshPassthrough": true,
	"Zone": true, "ZoneIngress": true, "ZoneEgress": true, "MeshGatewayRoute": true, "TrafficPermission": true,
	"TrafficRoute": true, "TrafficLog": true, "TrafficTrace": true, "HealthCheck": true, "CircuitBreaker": true,
	"FaultInjection": true, "Retry": true, "Timeout": true, "RateLimit": true, "ProxyTemplate": true,
	"ExternalService": true, "VirtualOutbound": true, "Secret": true, "GlobalSecret": true,
}

// Kind reports whether Kuma has the kind and weft has not.
func Kind(kind string) bool { return unsupportedKinds[kind] }

// Kinds are the kinds that Kuma has and weft has not, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(unsupportedKinds)) }

// Message says what is wrong with a document of such a kind.
func Message(kind string) string {
	return "weft has no " + kind + ", so it would have no effect; remove the document"
}
