package index

import "github.com/weftmesh/weft/api"

// Unreached says why no Envoy can send to a collector by itself; empty where it can.
func Unreached(b *api.MeshOpenTelemetryBackend) string {
	address, _ := b.Address()
	switch {
	case b.Protocol == "http":
		return "Envoy speaks OTLP over gRPC alone; write protocol: grpc and the port that takes it"
	case address == "":
		return "it has no address, and weft does not know one on the host of each sidecar; write endpoint.address"
	case b.Env != nil && b.Env.Mode == "Required":
		return "it is to be told by the environment of each sidecar, which weft does not read; write endpoint.address, and env.mode Disabled"
	}
	return ""
}
