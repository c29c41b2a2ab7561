package route_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/route"
)

func TestRegexBudget(t *testing.T) {
	t.Parallel()
	for source, ok := range map[string]bool{
		".*":                         true,
		"/v[0-9]+/(?i)items":         true,
		"[a-z]{900}":                 true,
		"":                           false,
		"(":                          false,
		"a(?=b)":                     false,
		`a\1`:                        false,
		"(a{50}){50}":                false,
		strings.Repeat("a", 1<<10):   true,
		strings.Repeat("a", 1<<10+1): false,
	} {
		if err := route.CheckRegex("value", source); (err == nil) != ok {
			t.Errorf("%.40q: %v", source, err)
		}
	}
}

func TestHeaderNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"x-a": true, "a_b": true, "x-A": false, "": false, ":path": false, "a b": false, "a\r": false, "é": false, "a:": false,
		strings.Repeat("a", 256): true, strings.Repeat("a", 257): false,
	} {
		if err := route.CheckHeaderName("name", name); (err == nil) != ok {
			t.Errorf("%.40q: %v", name, err)
		}
	}
	if route.CheckChangedHeader("name", "host") == nil {
		t.Error("host may be changed")
	}
}

func TestHeaderValues(t *testing.T) {
	t.Parallel()
	for value, ok := range map[string]bool{
		"": true, "a, b": true, "100%": true, "\t": true, "é": true, "a\nb": false, "a\r": false, "\x00": false, strings.Repeat("a", 16<<10+1): false,
	} {
		if err := route.CheckHeaderValue("value", value); (err == nil) != ok {
			t.Errorf("%.40q: %v", value, err)
		}
	}
}
