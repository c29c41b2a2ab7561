package timeout

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// Validate reports every mistake, not the first.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if c.ConnectionTimeout == nil && c.IdleTimeout == nil && c.HTTP == nil {
		f.Breaks(at, "sets nothing; set connectionTimeout, idleTimeout or http")
	}
	f.Positive(at.Field("connectionTimeout"), c.ConnectionTimeout)
	f.Bound(at.Field("idleTimeout"), c.IdleTimeout)
	if h := c.HTTP; h != nil {
		at := at.Field("http")
		if h.RequestTimeout == nil && h.StreamIdleTimeout == nil && h.MaxStreamDuration == nil && h.MaxConnectionDuration == nil {
			f.Breaks(at, "needs requestTimeout, streamIdleTimeout, maxStreamDuration or maxConnectionDuration; set one of them")
		}
		f.Bound(at.Field("requestTimeout"), h.RequestTimeout)
		f.Bound(at.Field("streamIdleTimeout"), h.StreamIdleTimeout)
		f.Bound(at.Field("maxStreamDuration"), h.MaxStreamDuration)
		f.Bound(at.Field("maxConnectionDuration"), h.MaxConnectionDuration)
		f.Bound(at.Field("requestHeadersTimeout"), h.RequestHeadersTimeout)
	}
	return f.Err()
}

// Rules of the block; its twin is Conf.Validate.
func (HTTP) Rules() []api.ValidationRule {
	return []api.ValidationRule{{
		Test:    "has(self.requestTimeout) || has(self.streamIdleTimeout) || has(self.maxStreamDuration) || has(self.maxConnectionDuration)",
		Message: "needs requestTimeout, streamIdleTimeout, maxStreamDuration or maxConnectionDuration; set one of them",
	}}
}
