package control_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
)

// TestAPIServerProvesWhoItIs: with --webhooks-client-ca an API server that shows a certificate
// of that authority is answered, and who shows none, or one of somebody else, says nothing to
// the control plane and hears nothing of it (spec/threats.md T7).
func TestAPIServerProvesWhoItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca, certificate, key := clientAuthority(t)
	kubeconfig := file("hooks.kubeconfig", fmt.Sprintf("{apiVersion: v1, kind: Config, users: [{name: '*', user: {client-certificate: %s, client-key: %s}}]}", file("tls.crt", certificate), file("tls.key", key)))
	plugins := ""
	for _, name := range []string{"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"} {
		plugins += fmt.Sprintf("- {name: %s, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: %s}}\n", name, kubeconfig)
	}
	flags := []string{"--admission-control-config-file", file("admission.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"+plugins)}
	a := admittingBy(t, flags, func(c *control.Config) { c.WebhooksClientCA = file("ca.crt", ca) })
	a.trustRoots()
	_, other, otherKey := clientAuthority(t)
	for name, pair := range map[string][2]string{"none": {}, "of another": {other, otherKey}, "its own": {certificate, key}} {
		trusts := a.plane.trusts.Clone()
		if pair[0] != "" {
			c, err := tls.X509KeyPair([]byte(pair[0]), []byte(pair[1]))
			if err != nil {
				t.Fatal(err)
			}
			trusts.Certificates = []tls.Certificate{c}
		}
		client := http.Client{Transport: &http.Transport{TLSClientConfig: trusts}}
		resp, err := client.Post("https://"+a.plane.Webhooks()+"/inject", "application/json", strings.NewReader("{}"))
		if err == nil {
			_ = resp.Body.Close()
		}
		client.CloseIdleConnections()
		if (err == nil) != (name == "its own") {
			t.Errorf("a certificate %s: %v", name, err)
		}
	}
}

// clientAuthority is an authority and a certificate of it that proves a client, in PEM.
func clientAuthority(t *testing.T) (ca, certificate, key string) {
	t.Helper()
	text := func(kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clients"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	var keys [2]*ecdsa.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, keys[0].Public(), keys[0])
	ca = text("CERTIFICATE", der, err)
	der, err = x509.CreateCertificate(rand.Reader, leaf, root, keys[1].Public(), keys[0])
	certificate = text("CERTIFICATE", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(keys[1])
	return ca, certificate, text("PRIVATE KEY", der, err)
}
