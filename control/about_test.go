package control_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A control plane says one version of itself, wherever it is asked.
func TestOneVersionEverywhere(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Version = "1.2.3-4-gabc"
	p := start(t, c)
	for path, want := range map[string]string{
		"/":              `"version":"1.2.3-4-gabc"`,
		"/_openapi.json": `"version":"1.2.3-4-gabc"`,
		"/metrics":       `weft_build_info{version="1.2.3-4-gabc"} 1`,
	} {
		if got := p.want(http.StatusOK, http.MethodGet, path, ""); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
}

// seen is what an overview says of a sidecar.
type seen struct {
	Insight struct {
		Subscriptions []struct {
			ConnectTime, DisconnectTime *time.Time
			Version                     struct {
				KumaDp struct{ Version string }
			}
		}
	} `json:"dataplaneInsight"`
}

// An overview tells when a sidecar came, when it went, and its own version, not
// that of the control plane.
func TestWhenASidecarCameAndWent(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	overview := func() seen { return get[seen](p, "/meshes/default/dataplanes/frontend-1/_overview") }
	started := time.Now()
	end := p.connect("frontend-1")
	subs := overview().Insight.Subscriptions
	if len(subs) != 1 || subs[0].ConnectTime == nil || subs[0].ConnectTime.Before(started) || subs[0].DisconnectTime != nil {
		t.Fatalf("while it is there: %+v", subs)
	}
	if subs[0].Version.KumaDp.Version != "7.8.9" {
		t.Errorf("its version is %q", subs[0].Version.KumaDp.Version)
	}
	came, ended := *subs[0].ConnectTime, time.Now()
	end()
	eventually(t, "it went", func() bool { return overview().Insight.Subscriptions[0].DisconnectTime != nil })
	if s := overview().Insight.Subscriptions[0]; s.ConnectTime == nil || !s.ConnectTime.Equal(came) || s.DisconnectTime.Before(ended) {
		t.Errorf("it came at %v and went at %v, which must be after %v", s.ConnectTime, s.DisconnectTime, ended)
	}
}
