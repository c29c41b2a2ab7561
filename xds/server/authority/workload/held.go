package workload

import (
	"crypto/ecdsa"
	"crypto/rand"
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
func Prove(key *ecdsa.PrivateKey, node string) ([]byte, error) {
	return ecdsa.SignASN1(rand.Reader, key, proves(node))
}

// Held is what a certificate says that one of these roots has signed, and whose key a proof was
// made by, of a dataplane. Its root is the first that its chain leads to.
func Held(ders [][]byte, node string, proof []byte, roots []*x509.Certificate, now time.Time) (leaf, root *x509.Certificate, err error) {
	var chain Chain
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
	if key, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || !ecdsa.VerifyASN1(key, proves(node), proof) {
		return nil, nil, errors.New("it is that of another dataplane")
	}
	ways, err := waysOf(chain, roots, now)
	if err != nil {
		return nil, nil, fmt.Errorf("its chain does not hold: %w", err)
	}
	return leaf, ways[0][len(ways[0])-1], nil
}
