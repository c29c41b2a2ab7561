package api

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"

	"github.com/weftmesh/weft/api/redact"
)

// SecretFault is what is wrong with one value of a Secret; Message quotes nothing of it.
type SecretFault struct{ Key, Message string }

// Certificate is a chain of certificates and the key that fits the first of them, both
// in PEM form and without anything else.
type Certificate struct{ Chain, Key []byte }

// Certificate is the certificate for servers that the Secret holds, or what keeps it
// from holding one.
func (s *Secret) Certificate() (*Certificate, *SecretFault) {
	if s.Type != SecretTLS {
		return nil, &SecretFault{"type", "is not " + SecretTLS + "; write that, with " + SecretTLSCert + " and " + SecretTLSKey}
	}
	chain, fault := s.needed(SecretTLSCert)
	if fault != nil {
		return nil, fault
	}
	key, fault := s.needed(SecretTLSKey)
	if fault != nil {
		return nil, fault
	}
	if !bytes.Contains(chain, []byte("-----BEGIN CERTIFICATE-----")) {
		return nil, &SecretFault{SecretTLSCert, "holds no certificate in PEM form; write the chain, the server's own certificate first"}
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil { // the cause may quote the key
		return nil, &SecretFault{SecretTLSKey, "is not the private key in PEM form of the first certificate under tls.crt; write both of one pair, the key without a password"}
	}
	if why := unusable(pair.Leaf); why != "" {
		return nil, &SecretFault{SecretTLSCert, why}
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, &SecretFault{SecretTLSKey, "is of a kind that no proxy takes; use RSA or ECDSA"}
	}
	out := &Certificate{Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
	for _, c := range pair.Certificate {
		out.Chain = append(out.Chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})...)
	}
	return out, nil
}

// CertificateProblem is why no server can serve the certificate of the Secret o, which has
// the ref, and what to do; empty where one can. There is no Secret where o is nil, as far as is
// known in the zone.
func CertificateProblem(ref Ref, o *Object, in Zone) string {
	name := redact.Clip(ref.Namespace + "/" + ref.Name)
	if o == nil && !in.ReadsSecrets(ref.Namespace) {
		return "the control plane may not read Secret " + name + "; add namespace " + redact.Clip(ref.Namespace) + " to the value secrets.namespaces of its installation"
	}
	if o == nil {
		return "there is no Secret " + name + "; create it, with type " + SecretTLS
	}
	if s := o.Spec.(*Secret); s.Assumed {
		return ""
	} else if _, fault := s.Certificate(); fault != nil {
		return "Secret " + name + " holds no certificate that Envoy can serve: " + fault.Key + " " + fault.Message
	}
	return ""
}

// unusable is why Envoy would refuse to show a certificate; empty where it would not.
func unusable(leaf *x509.Certificate) string {
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < 2048 {
			return "has an RSA key of less than 2048 bits, which Envoy refuses; make a longer one"
		}
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() && key.Curve != elliptic.P521() {
			return "has a key on a curve that Envoy refuses; use P-256, P-384 or P-521"
		}
	default:
		return "has a key that is neither RSA nor ECDSA, which Envoy does not show; make one of those"
	}
	return ""
}

// needed is the material of a name.
func (s *Secret) needed(key string) ([]byte, *SecretFault) {
	m, ok := s.Data[key]
	plain, here := m.Bytes()
	switch {
	case !ok, here && len(plain) == 0:
		return nil, &SecretFault{key, "is missing; a Secret for TLS has " + SecretTLSCert + " and " + SecretTLSKey}
	case !here:
		return nil, &SecretFault{key, "stands for material that is not here"}
	}
	return plain, nil
}

// wrongPair is what is wrong with what the Secret holds for TLS, as far as it is here:
// of what stands for material elsewhere whoever has it finds out.
func (s *Secret) wrongPair() *SecretFault {
	for _, k := range []string{SecretTLSCert, SecretTLSKey} {
		if m, ok := s.Data[k]; ok && m.Name() != "" {
			return nil
		}
	}
	_, fault := s.Certificate()
	return fault
}
