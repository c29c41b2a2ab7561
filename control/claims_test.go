package control_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const boundEphemeral = `type: Dataplane
mesh: default
name: web-1
labels: {kuma.io/workload: shop}
networking: {address: 127.0.0.9, inbound: [{port: 8080, tags: {kuma.io/service: web, version: v1}}, {port: 8081, tags: {kuma.io/service: admin}}]}
`

// A token decides which tags and which workload a sidecar may bring along; one
// that says nothing, only what the Dataplane of its name has already.
func TestATokenBindsWhatItsSidecarBringsAlong(t *testing.T) {
	t.Parallel()
	changed := func(from, to string) string { return strings.Replace(boundEphemeral, from, to, 1) }
	const one = `type: Dataplane
mesh: default
name: web-1
networking: {address: 127.0.0.9, inbound: [{port: 8080, tags: {kuma.io/service: web}}]}
`
	const edge = `type: Dataplane
mesh: default
name: web-1
labels: {team: a}
networking: {address: 127.0.0.9, gateway: {type: BUILTIN, tags: {kuma.io/service: web}, listeners: [{port: 443, protocol: https, tls: {secret: a}}]}}
`
	for name, c := range map[string]struct {
		claims, brought, said string
		first                 string // brought before, with a token that allows it
		applied               string // by an administrator, before
		any                   bool   // the mesh lets unbound tokens bring anything
		want                  int
	}{
		"all services":                 {claims: `"tags":{"kuma.io/service":["web","admin"]}`, brought: boundEphemeral, want: 200},
		"one service":                  {claims: `"tags":{"kuma.io/service":["web"]}`, brought: boundEphemeral, want: 403, said: "for kuma.io/service: web, and not for admin"},
		"another service":              {claims: `"tags":{"kuma.io/service":["pay"]}`, brought: one, want: 403, said: "--tag kuma.io/service=web"},
		"a missing tag":                {claims: `"tags":{"team":["a"]}`, brought: boundEphemeral, want: 403, said: "with the tag team"},
		"a free tag":                   {claims: `"tags":{"kuma.io/service":["web","admin"]}`, brought: changed("v1", "v2"), want: 200},
		"its workload":                 {claims: `"workload":"shop"`, brought: boundEphemeral, want: 200},
		"another workload":             {claims: `"workload":"bank"`, brought: boundEphemeral, want: 403, said: "for the workload bank"},
		"no workload":                  {claims: `"workload":"shop"`, brought: one, want: 403, said: "kuma.io/workload"},
		"nothing bound":                {brought: one, want: 403, said: "binds no tags"},
		"nothing bound, repeated":      {first: boundEphemeral, brought: changed("127.0.0.9", "127.0.0.8"), want: 200},
		"nothing bound, less":          {first: boundEphemeral, brought: one, want: 200},
		"nothing bound, another tag":   {first: boundEphemeral, brought: changed("v1", "v2"), want: 403, said: "version: v2"},
		"nothing bound, another label": {first: boundEphemeral, brought: changed("shop", "bank"), want: 403, said: "kuma.io/workload: bank"},
		"nothing bound, anything goes": {any: true, brought: one, want: 200},
		"an edge":                      {claims: `"tags":{"kuma.io/service":["web"]}`, brought: edge, want: 403, said: "may show certificates"},
		"an edge, nothing bound":       {brought: edge, want: 403, said: "apply it by `weft apply`"},
		"an edge where anything goes":  {any: true, brought: edge, want: 200},
		"an edge, repeated":            {applied: edge, brought: edge, want: 200},
		"an edge, another secret":      {applied: edge, brought: strings.Replace(edge, "secret: a", "secret: b", 1), want: 409, said: "differs"},
		"an edge, another label":       {applied: edge, claims: `"tags":{"kuma.io/service":["web"]}`, brought: strings.Replace(edge, "team: a", "team: b", 1), want: 409, said: "differs"},
		"an edge, none before":         {first: one, claims: `"tags":{"kuma.io/service":["web"]}`, brought: edge, want: 403, said: "may show certificates"},
		"bound where anything may go":  {any: true, claims: `"tags":{"kuma.io/service":["pay"]}`, brought: one, want: 403, said: "kuma.io/service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := config(t)
			conf.DataplaneAuth = "token"
			p := start(t, conf)
			if c.any {
				p.want(http.StatusOK, http.MethodPut, "/meshes/default", `{"type":"Mesh","name":"default","labels":{"weft.io/unbound-tokens":"any"}}`)
			}
			if c.applied != "" {
				p.want(http.StatusOK, http.MethodPost, "/_apply", c.applied)
			}
			bring := func(claims, document string) (int, string) {
				if claims != "" {
					claims = "," + claims
				}
				token := p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"name":"web-1","validFor":"1h"`+claims+`}`)
				return p.ask(http.DefaultClient, "http://"+p.XDS(), token, map[string]any{"mesh": "default", "name": "web-1", "dataplaneResource": document})
			}
			if c.first != "" {
				if code, text := bring(`"tags":{"kuma.io/service":["web","admin"]}`, c.first); code != http.StatusOK {
					t.Fatalf("%d %s", code, text)
				}
			}
			code, text := bring(c.claims, c.brought)
			if code != c.want || !strings.Contains(text, c.said) {
				t.Errorf("%d %s", code, text)
			}
			if there, _ := p.call(http.MethodGet, "/meshes/default/dataplanes/web-1", ""); (there == http.StatusOK) != (c.want == 200 || c.first != "" || c.applied != "") {
				t.Errorf("the Dataplane afterwards: %d", there)
			}
		})
	}
}

// kuma-dp asks by name for JSON and gets the form that it reads, its unknown
// fields are left out; the agent of weft gets what Envoy reads.
func TestTheBootstrapOfKumasClient(t *testing.T) {
	t.Parallel()
	j := &journal{}
	p := startLogging(t, config(t), j.logger())
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	ask := func(accept, more string) (*http.Response, []byte) {
		req, err := http.NewRequest(http.MethodPost, "http://"+p.XDS()+"/bootstrap", strings.NewReader(`{"mesh":"default","name":"frontend-1","proxyType":"dataplane",
			"dataplaneToken":"","version":{"kumaDp":{"version":"2.13.0"}},"features":["x"],"workdir":"/tmp","resources":{"maxHeapSizeBytes":1}`+more+`}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s, %v", resp.StatusCode, body.String(), err)
		}
		return resp, body.Bytes()
	}
	_, bare := ask("*/*", "")
	resp, wrapped := ask("application/json", `,"brandNew":1`)
	var got struct {
		Bootstrap string
		Sidecar   map[string]map[string]any `json:"kumaSidecarConfiguration"`
	}
	if err := json.Unmarshal(wrapped, &got); err != nil {
		t.Fatal(err)
	}
	inner, err := base64.StdEncoding.DecodeString(got.Bootstrap)
	if err != nil || !bytes.Equal(inner, bare) || !bytes.Contains(bare, []byte("dynamic_resources")) {
		t.Errorf("the two forms differ in their Envoy configuration: %v\n%s\n%s", err, bare, inner)
	}
	if n := got.Sidecar["networking"]; n["address"] != "127.0.0.1" || n["corefileTemplate"] != "" || got.Sidecar["metrics"]["aggregate"] == nil {
		t.Errorf("configuration of the sidecar: %v", got.Sidecar)
	}
	if w := resp.Header.Values("Warning"); len(w) != 1 || !strings.Contains(w[0], "brandNew") {
		t.Errorf("warnings %q", w)
	}
	if !j.has("msg=bootstrap", "form=envoy") || !j.has("msg=bootstrap", "form=kuma-dp") {
		t.Error("the log does not say which form was given")
	}
}
