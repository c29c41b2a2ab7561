package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
)

// TestHostsAbove: whoever looks for what is said about a host finds what is said about all hosts below
// one of which it is one, the nearest first, and in the end what is said about any host.
func TestHostsAbove(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"a.shop.example":  "*.shop.example *.example *",
		"*.shop.example":  "*.example *",
		"example":         "*",
		"*.example":       "*",
		api.AnyHost:       "",
		"b.a.shop.sample": "*.a.shop.sample *.shop.sample *.sample *",
	} {
		got := api.HostsAbove(host)
		if strings.Join(got, " ") != want {
			t.Errorf("%s is below %v, want %s", host, got, want)
		}
		if slices.ContainsFunc(got, func(name string) bool { return !api.HostCovers(name, host) }) {
			t.Errorf("%s is said to be below %v, and is not covered", host, got)
		}
	}
}
