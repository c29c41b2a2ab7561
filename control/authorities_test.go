package control_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/mtls"
)

const mutual = "type: Mesh\nname: default\nmtls: {enabledBackend: %s, backends: [%s]}\n"

const builtin = "{name: ca-1, type: builtin, mode: PERMISSIVE}"

// trusted are the roots that a MeshTrust names, in PEM.
func (p *plane) trusted(name string) []string {
	p.t.Helper()
	code, text := p.call(http.MethodGet, "/meshes/default/meshtrusts/"+name, "")
	if code != http.StatusOK {
		return nil
	}
	var o struct {
		Spec struct {
			CABundles []struct{ PEM struct{ Value string } }
		}
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for _, b := range o.Spec.CABundles {
		out = append(out, b.PEM.Value)
	}
	return out
}

// TestAuthorityIsMadeOnce (cases 2, 6): a builtin authority is made once, outlives restarts, is
// published as a MeshTrust that nobody else writes, and its key is shown nowhere (I10).
func TestAuthorityIsMadeOnce(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", builtin))
	eventually(t, "there is a root", func() bool { return len(p.trusted("mtls-default")) == 1 })
	first := p.trusted("mtls-default")[0]
	shown := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshtrusts/mtls-default", "")
	for _, really := range []string{"?dryRun=true", ""} { // what is planned is refused as what is written
		if code, text := p.call(http.MethodDelete, "/meshes/default/meshtrusts/mtls-default"+really, ""); code != http.StatusConflict {
			t.Errorf("deleted by a user%s: %d %s", really, code, text)
		}
		if code, text := p.call(http.MethodPost, "/_apply"+really, strings.Replace(shown, `"trustDomain":"default"`, `"trustDomain":"other"`, 1)); code != http.StatusConflict {
			t.Errorf("edited by a user%s: %d %s", really, code, text)
		}
		if code, text := p.call(http.MethodDelete, "/meshes/default/secrets/default.ca-builtin-key-ca-1"+really, ""); code != http.StatusConflict || !strings.Contains(text, "used by Mesh") {
			t.Errorf("the key is deleted%s: %d %s", really, code, text)
		}
	}
	for _, path := range []string{"/meshes/default/secrets", "/_history", "/meshes/default/secrets/default.ca-builtin-key-ca-1?format=written", "/_problems"} {
		if text := p.want(http.StatusOK, http.MethodGet, path, ""); strings.Contains(text, "PRIVATE") || strings.Contains(text, "UFJJVkFURS") {
			t.Errorf("%s shows a key", path)
		}
	}
	p.stop()
	for name, text := range files(t, c.DataDir) {
		if !strings.HasSuffix(name, "-key.pem") && bytes.Contains(text, []byte("PRIVATE KEY")) { // those are of the control plane itself
			t.Errorf("%s holds a key", name)
		}
	}
	p = start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", builtin+", {name: ca-2, type: builtin}"))
	eventually(t, "both roots are trusted", func() bool { return len(p.trusted("mtls-default")) == 2 })
	if both := strings.Join(p.trusted("mtls-default"), ""); !strings.Contains(both, first) {
		t.Error("the root is another one after a restart")
	}
	p.stop()
}

// kumaRoot is an authority as Kuma makes it: RSA, and of no domain by constraint.
func kumaRoot(t *testing.T) (certificate, key []byte) {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{Organization: []string{"Kuma"}, OrganizationalUnit: []string{"Mesh"}, CommonName: "default"},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "default"}}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)})
}

func meshSecretText(name string, value []byte) string {
	return "type: Secret\nmesh: default\nname: " + name + "\ndata: " + base64.StdEncoding.EncodeToString(value) + "\n---\n"
}

// TestTakesOverKuma (case 6): with an exported Kuma's Secrets its authority goes on.
func TestTakesOverKuma(t *testing.T) {
	t.Parallel()
	p := start(t, guarded(t))
	defer p.stop()
	certificate, key := kumaRoot(t)
	p.want(http.StatusOK, http.MethodPost, "/_apply", meshSecretText("default.ca-builtin-cert-ca-1", certificate)+meshSecretText("default.ca-builtin-key-ca-1", key)+fmt.Sprintf(mutual, "ca-1", builtin))
	eventually(t, "it is trusted", func() bool {
		return strings.Join(p.trusted("mtls-default"), "") == string(certificate)
	})
}

// TestProvidedAuthorities (cases 4, 10): what people bring, from Secrets and files, and why some
// of it cannot sign, without a word of a key.
func TestProvidedAuthorities(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.CAFileRoot = t.TempDir()
	certificate, key := kumaRoot(t)
	_, other := kumaRoot(t)
	for name, text := range map[string][]byte{"ca.pem": certificate, "ca.key": key} {
		if err := os.WriteFile(filepath.Join(c.CAFileRoot, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(c.CAFileRoot, "link")); err != nil {
		t.Fatal(err)
	}
	p := start(t, c)
	defer p.stop()
	from := func(cert, key string) string {
		return fmt.Sprintf(mutual, "p", "{name: p, type: provided, conf: {cert: {"+cert+"}, key: {"+key+"}}}")
	}
	file := func(name string) string { return "file: " + filepath.Join(c.CAFileRoot, name) }
	p.want(http.StatusOK, http.MethodPost, "/_apply", meshSecretText("c", certificate)+meshSecretText("k", key)+meshSecretText("o", other))
	for _, w := range []struct{ cert, key, want string }{
		{"secret: c", "secret: none", "there is no Secret none"},
		{file("ca.pem"), "file: /etc/shadow", "lies outside"},
		{file("ca.pem"), file("link"), "escapes"},
	} {
		p.want(http.StatusOK, http.MethodPost, "/_apply", from(w.cert, w.key))
		said := ""
		eventually(t, w.want, func() bool {
			said = p.want(http.StatusOK, http.MethodGet, "/_problems", "")
			return strings.Contains(said, w.want)
		})
		if strings.Contains(said, "PRIVATE KEY") {
			t.Error("the problem quotes a key")
		}
		if p.trusted("mtls-default") != nil {
			t.Errorf("%s: it is trusted all the same", w.want)
		}
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", from(file("ca.pem"), file("ca.key")))
	eventually(t, "it is trusted", func() bool { return strings.Join(p.trusted("mtls-default"), "") == string(certificate) })

	identity := "type: MeshIdentity\nmesh: default\nname: %s\nspec: {selector: {}, provider: {type: Bundled, bundled: {%s}}}\n"
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(identity, "own", "autogenerate: {enabled: true}"))
	eventually(t, "case 10", func() bool {
		return strings.Contains(p.want(http.StatusOK, http.MethodGet, "/_problems", ""), "ProviderValidationError")
	})
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(identity, "own", "insecureAllowSelfSigned: true, autogenerate: {enabled: true}"))
	eventually(t, "its trust is published", func() bool { return len(p.trusted("own")) == 1 })
	block, _ := pem.Decode([]byte(p.trusted("own")[0]))
	root, err := x509.ParseCertificate(block.Bytes)
	if err != nil || len(root.PermittedURIDomains) != 1 || root.PermittedURIDomains[0] != "default.default.mesh.local" {
		t.Errorf("F14: %v %v", root.PermittedURIDomains, err)
	}
}

// TestARootWithoutABackendIsShown: a backend that is called otherwise is another one, and the root of
// the former is listed as long as it is trusted.
func TestARootWithoutABackendIsShown(t *testing.T) {
	t.Parallel()
	p := start(t, guarded(t))
	defer p.stop()
	roots := func() (out []mtls.AuthorityRoot) {
		for _, a := range get[mtls.Authorities](p, "/meshes/default/_authorities").Items {
			out = append(out, a.Roots...)
		}
		return out
	}
	// A mesh that nobody has joined changes its root at once.
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web")+fmt.Sprintf(mutual, "ca-1", builtin))
	eventually(t, "there is a root", func() bool { all := roots(); return len(all) == 1 && all[0].Role == mtls.RootSigns })
	first := roots()[0].Fingerprint
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-2", strings.Replace(builtin, "ca-1", "ca-2", 1)))
	eventually(t, "both roots are shown", func() bool {
		all := roots()
		return len(all) == 2 && all[0].Backend == "ca-2" && all[1].Fingerprint == first && all[1].Backend == "" && strings.Contains(all[1].Problem, "names it no more")
	})
}
