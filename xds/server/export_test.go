package server

import discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

// Next is what a stream gives to the engine of the protocol.
var Next = next[*discoveryv3.DiscoveryRequest]
