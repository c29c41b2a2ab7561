package main

import (
	"encoding/json"
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// Whatever may stand in a document, the table says what the object is about.
func TestTablesSayWhatObjectsAreAbout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"type: MeshService\nname: web\nspec: {ports: [{port: 80, targetPort: 8080, appProtocol: http}, {port: 81, targetPort: admin}]}\nstatus: {addresses: [{hostname: web.mesh}]}\n": "80/http 81 web.mesh",
		"type: MeshExternalService\nname: ext\nspec: {match: {type: HostnameGenerator, port: 443, protocol: http2}, endpoints: [{address: example.org, port: 443}]}\n":                 "443/http2 -> example.org:443",
		"type: Dataplane\nname: a\nnetworking: {address: 10.0.0.1, inbound: [{port: 80, serviceProbe: {interval: 5s, tcp: {}}, tags: {kuma.io/service: a}}]}\n":                        "10.0.0.1 a:80",
		"type: MeshRetry\nname: r\nspec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, default: {http: {numRetries: 1}}}]}\n":                             "Mesh -> MeshService/web",
	} {
		objects, found := world.Decode("", []byte(text))
		if len(objects) != 1 {
			t.Fatal(found)
		}
		raw, err := decode.PrintJSON(world.Catalog(), objects[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := about(json.RawMessage(raw)); got != want {
			t.Errorf("%s is about %q, want %q", objects[0].Ref, got, want)
		}
	}
}
