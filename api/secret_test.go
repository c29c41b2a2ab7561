package api_test

import (
	"bytes"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// Whoever is shown an object learns all of it but its secrets, and what is
// stored keeps them.
func TestRedacted(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		`{"type": "MeshExternalService", "name": "a", "spec": {"match": {"type": "HostnameGenerator", "port": 443}, "endpoints": [{"address": "a.example", "port": 443}],
			"tls": {"enabled": true, "verification": {"serverName": "shown", "clientCert": {"inlineString": "shown"}, "clientKey": {"inlineString": "canary"}}}}}`,
		`{"type": "MeshExternalService", "name": "a", "spec": {"match": {"type": "HostnameGenerator", "port": 443}, "endpoints": [{"address": "a.example", "port": 443}],
			"tls": {"verification": {"clientCert": {"inline": "shown"}, "clientKey": {"inline": "canary"}}}}}`,
		`{"type": "MeshExternalService", "name": "a", "spec": {"match": {"type": "HostnameGenerator", "port": 443}, "endpoints": [{"address": "a.example", "port": 443}],
			"tls": {"verification": {"clientCert": {"type": "InsecureInline", "insecureInline": {"value": "shown"}}, "clientKey": {"type": "InsecureInline", "insecureInline": {"value": "canary"}}}}}}`,
		`{"type": "Mesh", "name": "a", "mtls": {"backends": [{"name": "shown", "type": "provided", "conf": {"cert": {"secret": "a"}, "key": {"inlineString": "canary"}}}]}}`,
		`{"type": "Mesh", "name": "a", "tracing": {"backends": [{"name": "shown", "conf": {"list": [{"token": {"inlineString": "canary"}}, 1]}}]}}`,
		`{"type": "MeshGateway", "name": "a", "tags": {"shown": "1"}, "conf": {"listeners": [{"port": 80, "tls": {"certificates": [{"inline": "canary"}]}}]}}`,
	} {
		catalog := api.NewCatalog(api.Types()...)
		objects, err := decode.Objects(catalog, "", []byte(document))
		if api.Refuses(err) || len(objects) != 1 {
			t.Fatal(err)
		}
		shown, stored := printed(t, catalog, objects[0].Redacted()), printed(t, catalog, objects[0])
		if bytes.Contains(shown, []byte("canary")) || !bytes.Contains(shown, []byte(api.Hidden)) || !bytes.Contains(shown, []byte("shown")) {
			t.Errorf("%s is shown", shown)
		}
		if !bytes.Contains(stored, []byte("canary")) {
			t.Errorf("%s is stored", stored)
		}
		if _, err := decode.Objects(catalog, "", shown); !api.Refuses(err) {
			t.Errorf("%s is accepted", shown)
		}
	}
}

func printed(t *testing.T, catalog *api.Catalog, o *api.Object) []byte {
	t.Helper()
	text, err := decode.PrintJSON(catalog, o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
