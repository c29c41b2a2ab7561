package hostname_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/hostname"
)

var service = hostname.Service{DisplayName: "Web", Name: "web-x7", Namespace: "shop", Zone: "east",
	Label: func(key string) (string, bool) {
		value, ok := map[string]string{"team": "blue", "kuma.io/odd": "a_b"}[key]
		return value, ok
	}}

// TestNames: what templates make of a service, or why they make nothing.
func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{ .DisplayName }}.svc.mesh.local":              "web.svc.mesh.local",
		"{{.Name}}.{{- .Namespace -}} .{{ .Zone }}.mesh": "web-x7.shop.east.mesh",
		"plain.mesh":                                   "plain.mesh",
		`{{ label "team" }}.mesh{{/* why */}}`:         "blue.mesh",
		`{{ label "none" }}.mesh`:                      "error: the service has no label none",
		`{{ label "kuma.io/odd" }}.mesh`:               `error: it makes "a_b.mesh", which is no host name`,
		"{{ .DisplayName }}..mesh":                     `error: it makes "web..mesh", which is no host name`,
		"10.0.0.1":                                     `error: it makes "10.0.0.1", which is no host name`,
		strings.Repeat("a", 63) + ".mesh":              strings.Repeat("a", 63) + ".mesh",
		strings.Repeat("a", 64) + ".m":                 `error: it makes "` + strings.Repeat("a", 64) + `.m", in which a part has more than 63 characters`,
		strings.Repeat("{{ .DisplayName }}", 90):       "error: it makes a name of more than 253 characters",
		"":                                             `error: it makes "", which is no host name`,
		"{{ .Labels }}.mesh":                           "refused: has {{.Labels}}",
		"{{ .Name.Length }}.mesh":                      "refused: has {{.Name.Length}}",
		"{{ range .Name }}a{{ end }}":                  "refused: has {{range .Name}}",
		"{{ if .Name }}a{{ end }}":                     "refused: has {{if .Name}}",
		"{{ with $x := .Name }}{{ $x }}{{ end }}":      "refused: has {{with $x := .Name}}",
		"{{ $x := .Name }}{{ $x }}":                    "refused: has {{$x := .Name}}",
		`{{ .Name | label }}`:                          "refused: has {{.Name | label}}",
		`{{ label .Name }}`:                            "refused: has {{label .Name}}",
		`{{ printf "%s" .Name }}`:                      `refused: 1: function "printf" not defined`,
		`{{ define "x" }}a{{ end }}{{ template "x" }}`: "refused: defines another template",
		"{{ .Name":                                     "refused: 1: unclosed action",
	} {
		got := ""
		if tpl, err := hostname.Parse(text); err != nil {
			got = "refused: " + err.Error()
		} else if got, err = tpl.Name(service); err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzTemplate: whatever people write, it is refused or makes a name of DNS, and nothing that
// is longer.
func FuzzTemplate(f *testing.F) {
	f.Add("{{ .DisplayName }}.svc.mesh.local", "v")
	f.Add(`{{ label "team" }}{{ range .X }}{{ end }}`, "a.b")
	f.Fuzz(func(t *testing.T, text, value string) {
		tpl, err := hostname.Parse(text)
		if err != nil {
			return
		}
		s := service
		s.DisplayName, s.Label = value, func(string) (string, bool) { return value, true }
		name, err := tpl.Name(s)
		if err != nil {
			return
		}
		if len(name) == 0 || len(name) > 253 || name != strings.ToLower(name) || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
			t.Errorf("%q makes %q of %q", text, name, value)
		}
	})
}
