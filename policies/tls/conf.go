package tls

// Conf says how inbounds take mutual TLS.
type Conf struct {
	// Mode is Strict, which takes mutual TLS alone, or Permissive, which takes plain text too.
	Mode *string `json:"mode,omitempty" weft:"listener,mode" schema:"enum=Strict|Permissive"`
	// TLSVersion bounds the version of TLS that both ends speak.
	TLSVersion *Version `json:"tlsVersion,omitempty"`
	// TLSCiphers are the ciphers of TLS 1.2, in their order.
	TLSCiphers []string `json:"tlsCiphers,omitzero" weft:"listener,parameters"`
}

// Version bounds the version of TLS.
type Version struct {
	// Min is the oldest version: TLSAuto, TLS12 or TLS13.
	Min *string `json:"min,omitempty" weft:"listener,parameters" schema:"enum=TLSAuto|TLS12|TLS13"`
	// Max is the newest version: TLSAuto, TLS12 or TLS13.
	Max *string `json:"max,omitempty" weft:"listener,parameters" schema:"enum=TLSAuto|TLS12|TLS13"`
}

// Words of a document.
const (
	strict, permissive = "Strict", "Permissive"
	auto, tls12, tls13 = "TLSAuto", "TLS12", "TLS13"
)

// ciphers are those of Kuma, of which each keeps what was said before a key was lost.
var ciphers = []string{
	"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305",
	"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305",
}
