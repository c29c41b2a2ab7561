package envoy

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The bounds of what is under way at one time to a cluster, where nobody says otherwise: as Kuma's.
const (
	MaxConnections     = 1024
	MaxPendingRequests = 1024
	MaxRequests        = 1024
	MaxRetries         = 3
)

// Thresholds are the built-in bounds of a cluster. There is one priority, so there is one list of them:
// of two for one priority Envoy heeds the first (spec/kinds.md F6).
func Thresholds() *clusterv3.CircuitBreakers {
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections:     wrapperspb.UInt32(MaxConnections),
		MaxPendingRequests: wrapperspb.UInt32(MaxPendingRequests),
		MaxRequests:        wrapperspb.UInt32(MaxRequests),
		MaxRetries:         wrapperspb.UInt32(MaxRetries),
		TrackRemaining:     true,
	}}}
}
