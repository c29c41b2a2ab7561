package clusters

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
)

// The parts of a server's certificate that a MeshExternalService may leave unchecked.
const (
	skipSAN = "SkipSAN"
	skipCA  = "SkipCA"
	skipAll = "SkipAll"
)

var tlsVersions = map[string]tlsv3.TlsParameters_TlsProtocol{
	"":        tlsv3.TlsParameters_TLS_AUTO,
	"TLSAuto": tlsv3.TlsParameters_TLS_AUTO,
	"TLS10":   tlsv3.TlsParameters_TLSv1_0,
	"TLS11":   tlsv3.TlsParameters_TLSv1_1,
	"TLS12":   tlsv3.TlsParameters_TLSv1_2,
	"TLS13":   tlsv3.TlsParameters_TLSv1_3,
}

// externalTLS is how the proxy speaks to an external service whose first
// endpoint with a name is host. It is nil without TLS.
func externalTLS(t *api.ExternalTLS, host string) (*corev3.TransportSocket, error) {
	if t == nil || !t.Enabled {
		return nil, nil
	}
	v := t.Verification
	if v == nil {
		v = &api.TLSVerification{}
	}
	name := v.ServerName
	if name == "" {
		name = host
	}
	common := &tlsv3.CommonTlsContext{}
	if t.Version != nil {
		common.TlsParams = &tlsv3.TlsParameters{
			TlsMinimumProtocolVersion: tlsVersions[t.Version.Min], TlsMaximumProtocolVersion: tlsVersions[t.Version.Max],
		}
	}
	if err := trust(common, v, name); err != nil {
		return nil, err
	}
	if err := present(common, v); err != nil {
		return nil, err
	}
	out := &tlsv3.UpstreamTlsContext{CommonTlsContext: common, AllowRenegotiation: t.AllowRenegotiation}
	if !envoy.IsIP(name) { // SNI carries names alone (RFC 6066, 3)
		out.Sni = name
	}
	return envoy.TLSSocket(out), nil
}

// trust says whom the proxy believes: the named authority, else those of the
// sidecar's host, which its bootstrap names.
func trust(common *tlsv3.CommonTlsContext, v *api.TLSVerification, name string) error {
	if v.Mode == skipAll || v.Mode == skipCA {
		return nil // Envoy checks no name without an authority: see skipsNames
	}
	check := &tlsv3.CertificateValidationContext{}
	if v.Mode != skipSAN {
		check.MatchTypedSubjectAltNames = sans(v, name)
		if len(check.MatchTypedSubjectAltNames) == 0 {
			return errors.New("no name to expect in the server's certificate; set verification.serverName or subjectAltNames")
		}
	}
	if v.CACert == nil {
		common.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
			CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext:         check,
				ValidationContextSdsSecretConfig: &tlsv3.SdsSecretConfig{Name: naming.SystemCA},
			},
		}
		return nil
	}
	pem, err := material(v.CACert)
	if err != nil {
		return fmt.Errorf("verification.caCert: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return errors.New("verification.caCert holds no certificate in PEM form")
	}
	check.TrustedCa = bootstrap.Inline(pem)
	common.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: check}
	return nil
}

// skipsNames reports whether s asks for a check of names that Envoy cannot make.
func skipsNames(s *api.MeshExternalService) bool {
	return s != nil && s.TLS != nil && s.TLS.Enabled && s.TLS.Verification != nil && s.TLS.Verification.Mode == skipCA
}

func sans(v *api.TLSVerification, name string) []*tlsv3.SubjectAltNameMatcher {
	if len(v.SubjectAltNames) == 0 && name != "" {
		return []*tlsv3.SubjectAltNameMatcher{envoy.SANMatcher(name, envoy.Exactly(name))}
	}
	var out []*tlsv3.SubjectAltNameMatcher
	for _, s := range v.SubjectAltNames {
		m := envoy.Exactly(s.Value)
		if s.Type == "Prefix" {
			m = &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: s.Value}}
		}
		// Which type of name is meant the document does not say.
		for _, kind := range []tlsv3.SubjectAltNameMatcher_SanType{tlsv3.SubjectAltNameMatcher_DNS, tlsv3.SubjectAltNameMatcher_URI, tlsv3.SubjectAltNameMatcher_IP_ADDRESS} {
			out = append(out, &tlsv3.SubjectAltNameMatcher{SanType: kind, Matcher: m})
		}
	}
	return out
}

// present is the proxy's own certificate.
func present(common *tlsv3.CommonTlsContext, v *api.TLSVerification) error {
	if v.ClientCert == nil && v.ClientKey == nil {
		return nil
	}
	if v.ClientCert == nil || v.ClientKey == nil {
		return errors.New("verification.clientCert and clientKey go together; give both")
	}
	cert, err := material(v.ClientCert)
	if err != nil {
		return fmt.Errorf("verification.clientCert: %w", err)
	}
	key, err := material(v.ClientKey)
	if err != nil {
		return fmt.Errorf("verification.clientKey: %w", err)
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		return errors.New("verification.clientCert and clientKey are not a pair in PEM form") // the cause may quote the key
	}
	common.TlsCertificates = []*tlsv3.TlsCertificate{{CertificateChain: bootstrap.Inline(cert), PrivateKey: bootstrap.Inline(key)}}
	return nil
}

func material(s *api.DataSource) ([]byte, error) {
	switch {
	case s.Elsewhere() != "":
		return nil, fmt.Errorf("material by %s is not read for a MeshExternalService; write it as inlineString or insecureInline", s.Elsewhere())
	case s.InsecureInline != nil:
		return []byte(s.InsecureInline.Value), nil
	case s.InlineString != "":
		return []byte(s.InlineString), nil
	}
	b, err := base64.StdEncoding.DecodeString(s.Inline)
	if err != nil {
		return nil, errors.New("inline is not base64; use inlineString for plain text")
	}
	return b, nil
}
