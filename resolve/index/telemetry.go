package index

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// addTelemetry derives what the Mesh says of counting requests.
func (c *Stage) addTelemetry() {
	c.telemetries = derive.Derive(c.Schema, "telemetry", c.MeshObjects, derive.Values[api.Telemetry]{Equal: func(a, b *api.Telemetry) bool { return derive.Same(a, b) }},
		func(r *derive.Reader, key string) *api.Telemetry {
			o, _ := c.MeshObjects.Get(r, key)
			return api.TelemetryOf(o)
		})
}

// Telemetry is what the Mesh says of counting requests; nil where it says nothing.
func (m Mesh) Telemetry() *api.Telemetry {
	for _, t := range m.telemetries.All(m.At) {
		return t
	}
	return nil
}
