package route_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
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
		// Envoy compares bytes.
		`[^a]\xE9*.`: true, `\x{e9}\351\p{L}\P{Greek}`: true, `\Q\x{100}\E`: true, `\\x{100}`: true, `a\\`: true, `\x{0FF}`: true, `[\x80-\xff]`: true,
		"é": false, "[é]": false, `\Qé\E`: false, `\x{100}`: false, `[a-\x{10FFFF}]`: false, `\Qa\E\x{100}`: false, `\400`: false, `[a-\777]`: false,
		`\p{Greek}`: false, `a(b|\p{Han}*)`: false, `[^\x00-\xff]`: false,
	} {
		if err := match.CheckRegex("value", source); (err == nil) != ok {
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
	for change := route.SetInRequest; change <= route.RemoveFromAnswer; change++ {
		if route.CheckChangedHeader("name", change, route.Header{Name: "host"}) == nil {
			t.Errorf("%d: host may be changed", change)
		}
	}
}

func TestHeaderValues(t *testing.T) {
	t.Parallel()
	for value, ok := range map[string]bool{
		"": true, "a, b": true, "100%": true, "\t": true, "é": true, "a\nb": false, "a\r": false, "\x00": false, strings.Repeat("a", 16<<10+1): false,
	} {
		if err := match.CheckHeaderValue("value", value); (err == nil) != ok {
			t.Errorf("%.40q: %v", value, err)
		}
	}
}
