package deploy_test

import (
	"os"
	"regexp"
	"testing"
)

// The images are built with the Go and the Envoy that everything is tested with.
func TestImagesHaveTheVersionsThatAreTested(t *testing.T) {
	t.Parallel()
	first := func(file, pattern string) string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return string(found[1])
	}
	if want, got := first("../go.mod", `(?m)^go (\d+\.\d+)`), first("Dockerfile", `GO_VERSION=(\S+)`); got != want {
		t.Errorf("Go %s, want %s", got, want)
	}
	if want, got := first("../Makefile", `ENVOY_VERSION := (\S+)`), first("Dockerfile", `ENVOY_VERSION=(\S+)`); got != want {
		t.Errorf("Envoy %s, want %s", got, want)
	}
}
