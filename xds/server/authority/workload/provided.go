package workload

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// InvalidField is what is wrong with an authority that people provide. Message quotes nothing of
// it: what stands in the place of a certificate may be a key.
type InvalidField struct {
	Field   string // cert or key, as in a backend's conf
	Message string
}

// Error is for logs; documents have the field in its place.
func (f *InvalidField) Error() string { return f.Field + " " + f.Message }

// Parse reads an authority that people provide, or that Kuma or weft has kept: the rules of
// spec/identity.md 1.1. It has to outlive two certificates of leafLife.
func Parse(certificate, key []byte, leafLife time.Duration, now time.Time) (*Signer, *InvalidField) {
	block, rest := pem.Decode(certificate)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, &InvalidField{"cert", "holds no certificate in PEM form; write that of the authority"}
	}
	if more, _ := pem.Decode(rest); more != nil {
		return nil, &InvalidField{"cert", "holds more than one certificate; write the authority's alone, which everybody will trust"}
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, &InvalidField{"cert", "holds a certificate that cannot be read; write it as its authority made it"}
	}
	if why := unfit(c, leafLife, now); why != "" {
		return nil, &InvalidField{"cert", why}
	}
	if block, _ := pem.Decode(key); block == nil {
		return nil, &InvalidField{"key", "holds no private key in PEM form; write the authority's, without a password"}
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil { // the cause may quote the key
		return nil, &InvalidField{"key", "is not the private key of the certificate; write both of one pair, the key without a password"}
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, &InvalidField{"key", "cannot sign; use RSA, ECDSA or Ed25519"}
	}
	return &Signer{certificate: c, key: signer}, nil
}

// unfit is why a certificate cannot be an authority; empty where it can.
func unfit(c *x509.Certificate, leafLife time.Duration, now time.Time) string {
	switch {
	case !c.IsCA || !c.BasicConstraintsValid:
		return "is not the certificate of an authority; make one with CA:TRUE"
	case c.KeyUsage&x509.KeyUsageCertSign == 0:
		return "may not sign certificates; make one with the use keyCertSign"
	case c.KeyUsage&x509.KeyUsageKeyAgreement != 0:
		return "has the use keyAgreement, which an authority may not have; make one without"
	case now.Before(c.NotBefore):
		return "is not valid before " + c.NotBefore.UTC().Format(time.RFC3339) + "; wait until then, or set the clock"
	case !c.NotAfter.After(now.Add(2 * leafLife)):
		return fmt.Sprintf("ends at %s, before two certificates of workloads (%s each) have passed; make a new one", c.NotAfter.UTC().Format(time.RFC3339), leafLife)
	}
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < 2048 {
			return "has an RSA key of less than 2048 bits; make a longer one"
		}
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() {
			return "has a key on another curve than P-256 and P-384; use one of those"
		}
	case ed25519.PublicKey:
	default:
		return "has a key that is neither RSA, ECDSA nor Ed25519; use one of those"
	}
	return ""
}
