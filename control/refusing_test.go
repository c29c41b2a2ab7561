package control_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAuthoritiesThatCannotSignAreRefused (case 4): an authority whose key is that of another
// certificate is refused where it is written, at the field of the key and without a word of it;
// skipValidation accepts it, with a warning.
func TestAuthoritiesThatCannotSignAreRefused(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.CAFileRoot = t.TempDir()
	certificate, key := kumaRoot(t)
	_, other := kumaRoot(t)
	file := filepath.Join(c.CAFileRoot, "other.key")
	if err := os.WriteFile(file, other, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, c)
	defer p.stop()
	inline := func(text []byte) string { return "inline: " + base64.StdEncoding.EncodeToString(text) }
	mesh := func(key, more string) string {
		return fmt.Sprintf("type: Mesh\nname: default\nmtls: {%senabledBackend: p, backends: [{name: q, type: builtin}, {name: p, type: provided, conf: {cert: {%s}, key: {%s}}}]}\n---\n", more, inline(certificate), key)
	}
	identity := "type: MeshIdentity\nmesh: default\nname: own\nspec: {selector: {}, provider: {type: Bundled, bundled: {ca: {certificate: {type: Secret, secretRef: {name: c}}, privateKey: {type: Secret, secretRef: {name: o}}}}}}\n---\n"
	secrets := meshSecretText("c", certificate) + meshSecretText("o", other)
	const conf = `"mtls.backends[1].conf.key"`
	for what, w := range map[string]struct{ documents, field string }{
		"inline":                        {mesh(inline(other), ""), conf},
		"a Secret of the same apply":    {mesh("secret: o", "") + secrets, conf},
		"a file":                        {mesh("file: "+file, ""), conf},
		"a MeshIdentity":                {identity + secrets, `"spec.provider.bundled.ca.privateKey"`},
		"no key at all, in a plan also": {mesh(inline(certificate), ""), conf},
	} {
		for _, path := range []string{"/_apply", "/_apply?dryRun=true"} {
			code, text := p.call(http.MethodPost, path, w.documents)
			if code != http.StatusBadRequest || !strings.Contains(text, w.field) || strings.Contains(text, "PRIVATE") || strings.Contains(text, base64.StdEncoding.EncodeToString(other)[40:80]) {
				t.Errorf("%s: %s: %d %s", what, path, code, text)
			}
		}
	}
	if text := p.want(http.StatusOK, http.MethodPost, "/_apply", mesh(inline(other), "skipValidation: true, ")); !strings.Contains(text, "mtls.skipValidation") {
		t.Errorf("nothing warns of skipValidation: %s", text)
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", mesh(inline(key), ""))
	// What a write leaves as it was is not judged again.
	p.want(http.StatusOK, http.MethodPost, "/_apply", secrets+meshSecretText("k", key)+mesh("secret: k", ""))
	p.want(http.StatusOK, http.MethodPost, "/_apply", meshSecretText("k", other))
	p.want(http.StatusOK, http.MethodPost, "/_apply", mesh("secret: k", "")+"type: MeshRetry\nmesh: default\nname: r\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n")
}

// TestAPipeInThePlaceOfAFileHoldsNoWrite: what nobody writes is not waited for. The document that
// names it is refused, and other writes go on.
func TestAPipeInThePlaceOfAFileHoldsNoWrite(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.CAFileRoot = t.TempDir()
	certificate, _ := kumaRoot(t)
	pipe := filepath.Join(c.CAFileRoot, "pipe.key")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, c)
	defer p.stop()
	mesh := fmt.Sprintf("type: Mesh\nname: default\nmtls: {enabledBackend: p, backends: [{name: p, type: provided, conf: {cert: {inline: %s}, key: {file: %s}}}]}\n",
		base64.StdEncoding.EncodeToString(certificate), pipe)
	for _, path := range []string{"/_apply", "/_apply?dryRun=true"} {
		if code, text := p.call(http.MethodPost, path, mesh); code != http.StatusBadRequest || !strings.Contains(text, "pipe.key is a named pipe, not a regular file") || !strings.Contains(text, "mtls.backends[0].conf.key") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", "type: MeshRetry\nmesh: default\nname: r\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n")
}

// TestPermissionsThatNothingCarriesOutAreRefused (case 27, spec/identity.md 4.5): a permission on a
// route that the server cannot tell by, or on a second one at an inbound, is refused; one that a
// later edit of the route brings there is shut, and says so.
func TestPermissionsThatNothingCarriesOutAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t, guarded(t))
	defer p.stop()
	route := func(name, top, rule string) string {
		return fmt.Sprintf("type: MeshHTTPRoute\nmesh: default\nname: %s\nspec: {targetRef: {%s}, to: [{targetRef: {kind: MeshService, name: %s}, rules: [{matches: [{path: {type: PathPrefix, value: /a}}], default: {%s}}]}]}\n---\n", name, top, name, rule)
	}
	permission := func(name string) string {
		return fmt.Sprintf("type: MeshTrafficPermission\nmesh: default\nname: %s\nspec: {targetRef: {kind: MeshHTTPRoute, name: %s}, rules: [{default: {allow: [{spiffeID: {type: Exact, value: 'spiffe://default/web'}}]}}]}\n---\n", name, name)
	}
	service := func(name string) string {
		return fmt.Sprintf("type: MeshService\nmesh: default\nname: %s\nspec: {selector: {dataplaneTags: {kuma.io/service: payments}}, ports: [{port: 8080, targetPort: 8080, appProtocol: http}]}\n---\n", name)
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", builtin)+"---\n"+
		"type: Dataplane\nmesh: default\nname: pay-1\nnetworking: {address: 127.0.0.1, inbound: [{port: 8080, tags: {kuma.io/service: payments, kuma.io/protocol: http}}]}\n---\n"+service("pay")+service("also"))
	const some, regex = "kind: Dataplane, name: web-1", "filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]"
	for what, w := range map[string]struct{ documents, want string }{
		"a top-level Dataplane": {route("pay", some, "") + permission("pay"), "UnsupportedValue"},
		"a second frontend":     {route("pay", "kind: Mesh", regex) + permission("pay") + route("also", "kind: Mesh", "") + permission("also"), "Conflicted"},
	} {
		code, text := p.call(http.MethodPost, "/_apply", w.documents)
		if code != http.StatusBadRequest || !strings.Contains(text, w.want) || !strings.Contains(text, `"spec.targetRef"`) {
			t.Errorf("%s: %d %s", what, code, text)
		}
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", route("pay", "kind: Mesh", "")+permission("pay"))
	p.want(http.StatusOK, http.MethodPost, "/_apply", route("pay", some, ""))
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); !strings.Contains(text, "UnsupportedValue") {
		t.Errorf("what an edit of the route shuts is not told: %s", text)
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", strings.Replace(permission("pay"), "default/web", "default/shop", 1)) // was shut already
}
