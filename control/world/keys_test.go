package world_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// TestKeysInTheWrongPlace: a private key that is pasted where a name or a certificate is wanted, or
// anywhere else in a document, is refused, and no message has a line of it. Where material belongs it
// is hidden from readers.
func TestKeysInTheWrongPlace(t *testing.T) {
	t.Parallel()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	quoted, _ := json.Marshal(key)
	of := func(text string) string { return strings.ReplaceAll(text, "KEY", string(quoted)) }
	for name, text := range map[string]string{
		"the Secret of a Mesh":              `{"type":"Mesh","name":"m","mtls":{"enabledBackend":"a","backends":[{"name":"a","type":"provided","conf":{"cert":{"secret":"c"},"key":{"secret":KEY}}}]}}`,
		"the file of a Mesh":                `{"type":"Mesh","name":"m","mtls":{"enabledBackend":"a","backends":[{"name":"a","type":"provided","conf":{"cert":{"secret":"c"},"key":{"file":KEY}}}]}}`,
		"the backend of a Mesh":             `{"type":"Mesh","name":"m","mtls":{"enabledBackend":KEY,"backends":[{"name":"a","type":"builtin"}]}}`,
		"the Secret of a MeshIdentity":      `{"type":"MeshIdentity","mesh":"default","name":"i","spec":{"selector":{},"provider":{"type":"Bundled","bundled":{"ca":{"certificate":{"type":"Secret","secretRef":{"name":"c"}},"privateKey":{"type":"Secret","secretRef":{"name":KEY}}}}}}}`,
		"the certificate of a MeshIdentity": `{"type":"MeshIdentity","mesh":"default","name":"i","spec":{"selector":{},"provider":{"type":"Bundled","bundled":{"ca":{"certificate":{"type":"InsecureInline","insecureInline":{"value":KEY}},"privateKey":{"type":"Secret","secretRef":{"name":"k"}}}}}}}`,
		"a certificate of a service":        `{"type":"MeshExternalService","mesh":"default","name":"e","spec":{"match":{"type":"HostnameGenerator","port":443,"protocol":"tcp"},"endpoints":[{"address":"a.example","port":443}],"tls":{"enabled":true,"verification":{"caCert":{"inlineString":KEY}}}}}`,
		"the bundle of a MeshTrust":         `{"type":"MeshTrust","mesh":"default","name":"t","spec":{"trustDomain":"a","caBundles":[{"type":"Pem","pem":{"value":KEY}}]}}`,
		"the Secret of an HTTPProxy":        `{"apiVersion":"projectcontour.io/v1","kind":"HTTPProxy","metadata":{"name":"p","namespace":"n"},"spec":{"virtualhost":{"fqdn":"a.example","tls":{"secretName":KEY}},"routes":[{"services":[{"name":"s","port":80}]}]}}`,
		"the Secret of a Gateway":           `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g","namespace":"n"},"spec":{"gatewayClassName":"weft","listeners":[{"name":"l","port":443,"protocol":"HTTPS","tls":{"certificateRefs":[{"name":KEY}]}}]}}`,
		"the Secret of a RouteGroup":        `{"apiVersion":"zalando.org/v1","kind":"RouteGroup","metadata":{"name":"r","namespace":"n"},"spec":{"hosts":["a.example"],"tls":[{"hosts":["a.example"],"secretName":KEY}],"backends":[{"name":"b","type":"service","serviceName":"s","servicePort":80}],"defaultBackends":[{"backendName":"b"}]}}`,
		"a header of a route":               `{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"s"},"rules":[{"matches":[{"headers":[{"name":"x","value":KEY}]}],"default":{}}]}]}}`,
		"a tag of a Dataplane":              `{"type":"Dataplane","mesh":"default","name":"d","networking":{"address":"10.0.0.1","inbound":[{"port":80,"tags":{"kuma.io/service":KEY}}]}}`,
	} {
		objects, err := decode.Objects(world.Catalog(), "", []byte(of(text)))
		if !api.Refuses(err) || len(objects) > 0 {
			t.Errorf("%s is taken: %v", name, err)
		}
		secretive(t, name, key, fmt.Sprint(err))
	}
	for name, text := range map[string]string{
		"a Secret":              `{"type":"Secret","mesh":"default","name":"s","stringData":{"value":KEY}}`,
		"a Mesh":                `{"type":"Mesh","name":"m","mtls":{"enabledBackend":"a","backends":[{"name":"a","type":"provided","conf":{"cert":{"secret":"c"},"key":{"inlineString":KEY}}}]}}`,
		"a MeshIdentity":        `{"type":"MeshIdentity","mesh":"default","name":"i","spec":{"selector":{},"provider":{"type":"Bundled","bundled":{"ca":{"certificate":{"type":"Secret","secretRef":{"name":"c"}},"privateKey":{"type":"InsecureInline","insecureInline":{"value":KEY}}}}}}}`,
		"a MeshExternalService": `{"type":"MeshExternalService","mesh":"default","name":"e","spec":{"match":{"type":"HostnameGenerator","port":443,"protocol":"tcp"},"endpoints":[{"address":"a.example","port":443}],"tls":{"enabled":true,"verification":{"clientCert":{"inlineString":"c"},"clientKey":{"inlineString":KEY}}}}}`,
	} {
		objects, err := decode.Objects(world.Catalog(), "", []byte(of(text)))
		if strings.Contains(fmt.Sprint(err), "a private key stands here") {
			t.Errorf("%s: %v", name, err)
		}
		secretive(t, name, key, fmt.Sprint(err))
		for _, o := range objects {
			shown, err := decode.PrintJSON(world.Catalog(), o.Redacted())
			if err != nil {
				t.Fatal(err)
			}
			secretive(t, name+" as it is shown", key, string(shown))
		}
	}
}

// secretive wants a text without any line of a key.
func secretive(t *testing.T, what, key, text string) {
	t.Helper()
	for line := range strings.Lines(key) {
		if part := strings.Trim(line, "-\n"); len(part) > 16 && strings.Contains(text, part[:16]) || strings.Contains(text, "BEGIN") {
			t.Errorf("%s has a key: %s", what, text)
			return
		}
	}
}
