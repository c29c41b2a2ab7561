package accesslog

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"strings"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/accesslog/format"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
)

// id tells backends apart by what they say, so that equal ones of several documents are one.
func (b *Backend) id() string {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // it was read from a document
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // it cannot fail
	return hex.EncodeToString(h.Sum(nil))
}

// written reports whether lines are written to b; Validate warns of the others.
func (b *Backend) written() bool {
	if to, _ := b.forwarded(); to != "" {
		return true
	}
	switch b.Type {
	case typeFile:
		return b.File != nil && (b.File.Path == stdout || b.File.Path == stderr)
	case typeOpenTelemetry:
		_, ok := b.OpenTelemetry.collector()
		return ok
	}
	return false
}

// collector is where records go; not ok where that is not known.
func (o *OpenTelemetry) collector() (at envoy.OwnCluster, ok bool) {
	at = envoy.OwnCluster{Use: "otel", HTTP2: true, Field: "backends"}
	if o == nil {
		return at, false
	}
	at.Host, at.Port, ok = policies.Collector(o.Endpoint, o.BackendRef)
	return at, ok
}

// Lines that are written where a backend has no format of its own: Kuma's.
const (
	httpLine = `[%START_TIME%] %KUMA_MESH% "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ` +
		`%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ` +
		`"%REQ(X-B3-TRACEID?X-DATADOG-TRACEID)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%KUMA_SOURCE_SERVICE%" ` +
		`"%KUMA_DESTINATION_SERVICE%" "%KUMA_SOURCE_ADDRESS_WITHOUT_PORT%" "%UPSTREAM_HOST%"`
	tcpLine = `[%START_TIME%] %RESPONSE_FLAGS% %KUMA_MESH% %KUMA_SOURCE_ADDRESS_WITHOUT_PORT%(%KUMA_SOURCE_SERVICE%)->` +
		`%UPSTREAM_HOST%(%KUMA_DESTINATION_SERVICE%) took %DURATION%ms, sent %BYTES_SENT% bytes, received: %BYTES_RECEIVED% bytes`
)

func usualLine(http bool) string {
	if http {
		return httpLine
	}
	return tcpLine
}

// filler fills the mesh's commands in at a place.
type filler struct{ at envoy.Place }

// fill is text for Envoy.
func (f filler) fill(text string) string {
	read, err := format.Parse(text)
	if err != nil {
		return format.Literal(text) // only of a document that was stored before it was checked
	}
	return read.Fill(f.value)
}

// line is text for Envoy, and one line break at its end.
func (f filler) line(text string) string { return strings.TrimSuffix(f.fill(text), "\n") + "\n" }

// value is what the mesh says for one of its commands (spec/kinds.md 7). A listener may be that of many
// dataplanes: what tells them apart Envoy reads from its own node. Who calls an inbound is known by
// certificate and connection alone.
func (f filler) value(name string) string {
	switch name {
	case format.Mesh:
		return format.Literal(f.at.Mesh)
	case format.Zone:
		return "%CEL(xds.node.metadata['" + naming.NodeZone + "'])%"
	case format.Workload:
		return "%CEL(xds.node.metadata['" + naming.NodeWorkload + "'])%"
	case format.DestinationService:
		return format.Literal(cmp.Or(f.at.Destination, "*"))
	case format.TrafficDirection:
		if f.at.Inbound {
			return "INBOUND"
		}
		return "OUTBOUND"
	}
	if f.at.Inbound {
		return map[string]string{
			format.SourceService:            "%DOWNSTREAM_PEER_URI_SAN%",
			format.SourceAddress:            "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS%",
			format.SourceAddressWithoutPort: "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
		}[name]
	}
	return map[string]string{
		format.SourceService:            "%CEL(xds.node.cluster)%",
		format.SourceAddress:            "%UPSTREAM_LOCAL_ADDRESS%",
		format.SourceAddressWithoutPort: "%UPSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%",
	}[name]
}
