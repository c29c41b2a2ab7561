package skipper_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/route/skipper"
)

// TestAddressesThatBackendsMayBeAt: where nobody says otherwise a group may name every host but those of the proxy
// itself, of its link and of a cloud's metadata; where hosts are given, those alone. A group that names another is
// not applied, and says at which field.
func TestAddressesThatBackendsMayBeAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ allowed, taken, refused string }{
		{"", "192.0.2.1 10.0.0.1 [2001:db8::1] api.example.org",
			"127.0.0.1:9901 127.9.9.9 [::1]:9901 [::ffff:127.0.0.1] 0.0.0.0 [::] localhost a.localhost ip6-localhost 169.254.169.254 [fe80::1] 224.0.0.1 100.100.100.200 168.63.129.16"},
		{"*.example.org 10.0.0.0/8", "api.example.org 10.1.2.3", "example.com 11.1.2.3 127.0.0.1 localhost"},
		{"none", "", "192.0.2.1 api.example.org 127.0.0.1"},
		{"*", "192.0.2.1 127.0.0.1 localhost", ""},
	} {
		hosts, err := skipper.ParseAddresses(strings.Fields(c.allowed))
		if err != nil {
			t.Fatal(err)
		}
		language := skipper.In(skipper.Settings{Addresses: hosts})
		for _, host := range append(strings.Fields(c.taken), strings.Fields(c.refused)...) {
			objects, err := decode.Objects(catalog, "g.yaml", group("  backends:\n  - {name: n, type: network, address: 'http://"+host+"'}\n  defaultBackends: [{backendName: n}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			read, refused := language.Read(objects[0], alone{}), false
			for _, n := range read.Notes {
				refused = refused || n.Severity == api.Error && n.Code == "UnsupportedBackend" && n.Field == "spec.backends[0].address" && n.Origin.Ref == objects[0].Ref
			}
			if want := strings.Contains(" "+c.refused+" ", " "+host+" "); refused != want || refused != (len(read.Entries) == 0) {
				t.Errorf("%s, where %q may be named: refused is %v, with %d entries", host, c.allowed, refused, len(read.Entries))
			}
		}
	}
}
