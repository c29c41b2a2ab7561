package control_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a Secret held is in no answer about the past and not in the open in the file, and is
// there again after a way back.
func TestTheHistoryOfSecretsIsSealed(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Store = "bolt"
	p := start(t, c)
	secret := func(value string) string {
		return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"shop"},"data":{"key":"` + base64.StdEncoding.EncodeToString([]byte(value)) + `"}}`
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", secret("first canary"))
	first := p.want(http.StatusOK, http.MethodGet, "/meshes/default/secrets/s.shop", "")
	p.want(http.StatusOK, http.MethodPost, "/_apply", secret("second canary"))
	if second := p.want(http.StatusOK, http.MethodGet, "/meshes/default/secrets/s.shop", ""); second == first {
		t.Fatalf("both are shown as %s", first)
	}
	for _, path := range []string{"/_history", "/_diff?from=2&to=3", "/_diff?from=3&to=2"} {
		text := p.want(http.StatusOK, http.MethodGet, path, "")
		for _, form := range []string{"canary", base64.StdEncoding.EncodeToString([]byte("first canary")), base64.StdEncoding.EncodeToString([]byte("second canary"))} {
			if strings.Contains(text, form) || !strings.Contains(text, "Secret/default/shop/s") {
				t.Errorf("%s says %s", path, text)
			}
		}
	}
	p.want(http.StatusOK, http.MethodPost, "/_rollback?to=2", "")
	sum := func(text string) string { // of the value, without times
		_, rest, _ := strings.Cut(text, `"data"`)
		return rest
	}
	if again := p.want(http.StatusOK, http.MethodGet, "/meshes/default/secrets/s.shop", ""); sum(again) != sum(first) {
		t.Errorf("after the way back it is %s, and was %s", again, first)
	}
	files, err := filepath.Glob(filepath.Join(c.DataDir, "weft.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "canary") {
			t.Errorf("%s holds a secret", f)
		}
	}
}

// A way back is told to be whose it is, what comes with a mesh is as it was, and addresses
// that services were given stay theirs.
func TestTheWayBackLeadsToTheSame(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.SkipDefaultPolicies = false
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	shown := func() (all string) {
		for _, kind := range []string{"meshservices", "meshtimeouts", "meshretries", "meshhttproutes", "dataplanes"} {
			all += p.want(http.StatusOK, http.MethodGet, "/meshes/default/"+kind+"?format=written", "")
		}
		return all
	}
	before := shown()
	for _, path := range []string{"meshtimeouts/mesh-timeout-all-default", "meshhttproutes/route-1", "meshservices/backend"} {
		p.want(http.StatusOK, http.MethodDelete, "/meshes/default/"+path, "")
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", "type: MeshService\nmesh: default\nname: other\nspec: {ports: [{port: 80}]}\n")
	p.want(http.StatusOK, http.MethodPost, "/_rollback?to=2", "")
	if after := shown(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/_diff?from=2", ""); !strings.Contains(text, `"changes":[]`) {
		t.Errorf("there is a difference: %s", text)
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/_history?size=1", ""); !strings.Contains(text, `"user":"anonymous","client":"Go-http-client`) {
		t.Errorf("the last revision is %s", text)
	}
}
