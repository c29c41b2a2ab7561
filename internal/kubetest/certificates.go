package kubetest

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/weftmesh/weft/xds/server/authority"
)

// Certificates are the files of a Secret as cert-manager writes it, of a new authority: a
// certificate for the hosts with its key, and who signed it.
func Certificates(t testing.TB, hosts ...string) map[string]string {
	t.Helper()
	b, err := authority.NewBundle(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c, err := authority.NewServing(b, time.Now, hosts...).TLS().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"ca.crt": string(b.PEM()),
		"tls.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})),
		"tls.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))}
}
