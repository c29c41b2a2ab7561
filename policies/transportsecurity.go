package policies

// TransportSecurity is implemented for the kind whose confs say how inbounds take mutual TLS.
type TransportSecurity interface {
	// InboundMode is Strict or Permissive; empty where the conf says neither.
	InboundMode(Conf) string
	// Parameters are those of both ends of connections.
	Parameters(Conf) TLSParameters
}

// TLSParameters is what both ends of a connection speak; empty is what weft has unasked.
type TLSParameters struct {
	Minimum, Maximum string // 1.2 or 1.3
	Ciphers          []string
}
