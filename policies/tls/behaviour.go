package tls

import (
	"github.com/weftmesh/weft/policies"
)

// transportSecurity is what the engine asks of confs of the kind.
type transportSecurity struct{}

// InboundMode is Strict or Permissive; empty where nothing is said.
func (transportSecurity) InboundMode(of policies.Conf) string {
	c := of.(*Conf)
	if c.Mode == nil {
		return ""
	}
	return *c.Mode
}

// Parameters are those of both ends of connections.
func (transportSecurity) Parameters(of policies.Conf) policies.TLSParameters {
	c := of.(*Conf)
	out := policies.TLSParameters{Ciphers: c.TLSCiphers}
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
