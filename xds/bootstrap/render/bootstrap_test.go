package render_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/xds/bootstrap/render"
)

// TestTheNameOfTheControlPlane: an Envoy asks a control plane by its name for that name's certificate, also where it
// finds it at an address; one that is known by an address alone has no name to ask for (RFC 6066, 3).
func TestTheNameOfTheControlPlane(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host, address, ca string
		asks              bool
	}{
		{"cp.example", "", "PEM", true},
		{"cp.example", "10.0.0.1", "PEM", true},
		{"10.0.0.1", "", "PEM", false},
		{"2001:db8::1", "", "PEM", false},
		{"cp.example", "", "", false},
	} {
		text, err := render.Bootstrap(render.Config{Mesh: "default", Name: "a", XDSHost: c.host, XDSAddress: c.address, XDSPort: 5678, CA: c.ca})
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.Join(strings.Fields(string(text)), "")
		if got := strings.Contains(plain, `"sni":"`+c.host+`"`) || strings.Contains(plain, "sni:"+c.host); got != c.asks || !c.asks && strings.Contains(plain, `"sni"`) {
			t.Errorf("%s at %q, authority %q: asks by name %v", c.host, c.address, c.ca, got)
		}
	}
}
