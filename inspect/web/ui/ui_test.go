package ui_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/web/ui"
)

func ask(t *testing.T, method, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	ui.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
	r := w.Result()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(body)
}

var asset = regexp.MustCompile(`/gui/assets/[\w.-]+`)

func TestEveryAddressAnswersThePage(t *testing.T) {
	for _, path := range []string{"/gui", "/gui/", "/gui/meshes/default/dataplanes/web-1", "/gui/problems", "/gui/meshes/a/policies/MeshRetry/..%2F..%2Fx"} {
		r, body := ask(t, http.MethodGet, path)
		if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || !strings.Contains(body, `<div id="app">`) {
			t.Errorf("GET %s: %d %s", path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		csp := r.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("GET %s: the policy %q lacks %q", path, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Referrer-Policy") != "no-referrer" || r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("GET %s: headers %v", path, r.Header)
		}
	}
}

func TestAssetsAreKeptForever(t *testing.T) {
	_, page := ask(t, http.MethodGet, "/gui/")
	found := asset.FindAllString(page, -1)
	if len(found) < 2 {
		t.Fatalf("the page names %d assets: %s", len(found), page)
	}
	for _, path := range found {
		r, body := ask(t, http.MethodGet, path)
		if r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") || body == "" {
			t.Errorf("GET %s: %d, %v, %d bytes", path, r.StatusCode, r.Header, len(body))
		}
	}
	if r, _ := ask(t, http.MethodGet, "/gui/assets/gone.js"); r.StatusCode != http.StatusNotFound {
		t.Errorf("an asset of another version: %d, wanted 404", r.StatusCode)
	}
	if r, _ := ask(t, http.MethodPost, "/gui/"); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d, wanted 405", r.StatusCode)
	}
}

func TestThePageHasNothingInline(t *testing.T) {
	_, page := ask(t, http.MethodGet, "/gui/")
	if regexp.MustCompile(`(?s)<script[^>]*>[^<]|<style|\son\w+=|\sstyle=|https?://`).MatchString(page) {
		t.Errorf("inline code, or something from elsewhere:\n%s", page)
	}
}

// What users write never becomes markup: the sources have none of the ways to that.
func TestTextNeverBecomesMarkup(t *testing.T) {
	n := 0
	err := filepath.WalkDir("src", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		text, err := os.ReadFile(name)
		for _, bad := range []string{"v-html", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s uses %s", name, bad)
			}
		}
		return err
	})
	if err != nil || n < 10 {
		t.Fatalf("%d sources: %v", n, err)
	}
}
