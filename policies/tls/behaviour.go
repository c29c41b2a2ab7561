package tls

import (
	"github.com/weftmesh/weft/resolve/effective"
)

// InboundMode is Strict or Permissive; empty where nothing is said.
func (c *Conf) InboundMode() string {
	if c.Mode == nil {
		return ""
	}
	return *c.Mode
}

// Parameters are those of both ends of connections.
func (c *Conf) Parameters() effective.TLSParameters {
	out := effective.TLSParameters{Ciphers: c.TLSCiphers}
	if v := c.TLSVersion; v != nil {
		out.Minimum, out.Maximum = spoken(v.Min), spoken(v.Max)
	}
	return out
}

// spoken is a version as engines know it; empty for what weft chooses.
func spoken(v *string) string {
	switch {
	case v == nil:
		return ""
	case *v == tls12:
		return "1.2"
	case *v == tls13:
		return "1.3"
	}
	return ""
}
