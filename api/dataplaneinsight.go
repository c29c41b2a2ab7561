package api

import "time"

// KindDataplaneInsight is internal: the control plane makes such objects of what it hears from
// sidecars, and puts them into the snapshot that is resolved. No store and no catalogue has them.
const KindDataplaneInsight = "DataplaneInsight"

// DataplaneInsight is what is known of one dataplane at run time, as far as the configuration
// of others, or its own, depends on it. Its object has the mesh, namespace and name of the
// Dataplane; none is as one that says nothing.
type DataplaneInsight struct {
	// Identity: its agent has reported a certificate with the names that it should have. Before,
	// its Envoy is sent nothing that waits for one, but for inbounds that take nothing else.
	Identity bool
	// TLS: its Envoy has acknowledged the listeners with the chain mtls and both secrets. Before,
	// others call those of its inbounds that take plain text in plain text.
	TLS bool
	// Plain: callers may not have learnt yet that its endpoints take TLS, so that inbounds whose
	// mode is Strict go on taking plain text.
	Plain bool
	// OverADS: the control plane makes its key, and sends it by ADS (spec/identity.md 2.3).
	OverADS bool
	// Shows are the names in the certificate that it has, where those are not all that it should
	// have: who calls it expects both.
	Shows []string
	// Refused is why its sidecar is given no certificate; the zero value where nothing is refused.
	Refused IdentityRefusal
	// Proxyless: a gRPC client without a sidecar calls in its name, in plain text.
	Proxyless bool
	// Skew is by how much the clock of its host is ahead of that of the control plane, in whole
	// seconds; 0 where that does not matter.
	Skew time.Duration
}

// MostSkew is by how much clocks may differ before somebody is told: certificates are valid for an
// hour before they are issued, and until they end.
const MostSkew = time.Minute

// CodeClockSkew is that of a note about a clock which differs by more.
const CodeClockSkew = "ClockSkew"

// IdentityRefusal is why a dataplane is not given the certificate that it should have by the
// documents (spec/identity.md 2.5).
type IdentityRefusal struct {
	Code    string // one of those below
	Message string // what is wrong, and what to do
}

// Error says both.
func (r IdentityRefusal) Error() string { return r.Code + ": " + r.Message }

// Why a dataplane has no certificate.
const (
	CodeSpiffeIDInvalid = "SpiffeIDInvalid" // the documents make no name for it
	CodeNoProof         = "NoProof"         // nobody can prove here who he is
	CodeIdentityRefused = "IdentityRefused" // its token does not prove the names that it has
	CodeIdentityRevoked = "IdentityRevoked" // a name of it is taken away
	// CodeUnprovenMember is that of a note on a dataplane which answers for a service, or would, by
	// what its token does not prove.
	CodeUnprovenMember = "UnprovenMember"
	// Of a dataplane whose certificates come from the SPIRE beside it.
	CodeIdentityMismatch = "IdentityMismatch" // they are for another name than the documents make
	CodeNoSVID           = "NoSVID"           // there are none
	CodeNoTrust          = "NoTrust"          // no MeshTrust has their trust domain
)

// Validate finds nothing: nobody writes it.
func (*DataplaneInsight) Validate(Path) error { return nil }

// InsightRef names the DataplaneInsight of a Dataplane.
func InsightRef(dataplane Ref) Ref {
	dataplane.Kind = KindDataplaneInsight
	return dataplane
}
