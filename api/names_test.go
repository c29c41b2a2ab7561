package api_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
)

// Names may be as long as they may be, and not longer.
func TestLengthsOfNames(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("a.b", n/3) + strings.Repeat("c", n%3) }
	for name, c := range map[string]struct {
		most     int
		validate func(string) error
	}{
		"host name":    {253, func(s string) error { return api.ValidateHostname("hostname", s) }},
		"tag name":     {253, func(s string) error { return api.ValidateTags("tags", map[string]string{s: "v"}) }},
		"tag value":    {253, func(s string) error { return api.ValidateTags("tags", map[string]string{"k": s}) }},
		"label prefix": {253, func(s string) error { return api.ValidateLabels("labels", map[string]string{s + "/k": "v"}) }},
		"label name":   {63, func(s string) error { return api.ValidateLabels("labels", map[string]string{"a/" + s: "v"}) }},
		"label value":  {253, func(s string) error { return api.ValidateLabels("labels", map[string]string{"k": s}) }},
	} {
		for n, valid := range map[int]bool{1: true, c.most: true, c.most + 1: false} {
			if err := c.validate(long(n)); (err == nil) != valid {
				t.Errorf("%s of %d characters: %v", name, n, err)
			}
		}
	}
}
