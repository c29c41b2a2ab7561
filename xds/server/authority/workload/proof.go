package workload

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// proves is what a proof is made of, so that the key of a workload signs nothing else with it.
func proves(node string) []byte {
	sum := sha256.Sum256([]byte("weft: the certificate of this key is that of dataplane " + node))
	return sum[:]
}

// Prove says by the key of a certificate that this is the certificate of a dataplane: everybody
// who was ever called has seen it, and could show it as his own.
func Prove(key crypto.Signer, node string) ([]byte, error) {
	return key.Sign(rand.Reader, proves(node), crypto.SHA256)
}

// isProved reports whether a proof was made by the other half of a key. Keys that weft makes are
// ECDSA; a SPIRE may make RSA.
func isProved(key crypto.PublicKey, node string, proof []byte) bool {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, proves(node), proof)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, proves(node), proof) == nil
	}
	return false
}

// VerifyProof is what a certificate says that one of these roots has signed, and whose key a proof was
// made by, of a dataplane. Its root is the first that its chain leads to.
func VerifyProof(ders [][]byte, node string, proof []byte, roots []*x509.Certificate, now time.Time) (leaf, root *x509.Certificate, err error) {
	var chain CertificateChain
	for _, der := range ders {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, nil, fmt.Errorf("it cannot be read: %w", err)
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return nil, nil, errors.New("there is none")
	}
	leaf = chain[0]
	if !isProved(leaf.PublicKey, node, proof) {
		return nil, nil, errors.New("it is that of another dataplane")
	}
	ways, err := waysOf(chain, roots, now)
	if err != nil {
		return nil, nil, fmt.Errorf("its chain does not hold: %w", err)
	}
	return leaf, ways[0][len(ways[0])-1], nil
}
