package deploy_test

import (
	"encoding/json"
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

// The dashboard asks for metrics that there are, and leaves no panel without a question.
func TestDashboardAsksForMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("grafana/weft.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s asks nothing", p.Title)
		}
		for _, target := range p.Targets {
			names += asked(t, p.Title, target.Expr)
		}
	}
	if names < 25 {
		t.Errorf("%d metrics are asked for", names)
	}
}
