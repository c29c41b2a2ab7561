package lookup

import (
	"testing"

	"github.com/weftmesh/weft/resolve/effective"
)

// Of several hosts at one address a name goes before a wildcard, and the longer
// wildcard before the shorter, in whatever order they stand; another address and
// another name have nothing.
func TestTheNearestHostIsAsked(t *testing.T) {
	t.Parallel()
	names := []string{"*.org", "*.shop.example.org", "*.example.org", "shop.example.org"}
	for turn := range names {
		r := &effective.Resolved{}
		for i := range names {
			name := names[(i+turn)%len(names)]
			r.Outbounds = append(r.Outbounds, &effective.Outbound{Address: "127.0.0.1", Port: 80, Destination: &effective.Destination{Name: name}})
		}
		r.Outbounds = append(r.Outbounds, &effective.Outbound{Address: "127.0.0.1", Port: 81, Destination: &effective.Destination{Name: "*.a.shop.example.org"}})
		at := &effective.Outbound{Address: "127.0.0.1", Port: 80}
		for authority, want := range map[string]string{
			"shop.example.org": "shop.example.org", "SHOP.example.org:80": "shop.example.org", "a.shop.example.org": "*.shop.example.org",
			"b.a.shop.example.org": "*.shop.example.org", "pay.example.org": "*.example.org", "example.org": "*.org", "org": "", ".org": "", "example.com": "",
		} {
			got := ""
			if o := askedHost(r, at, authority); o != nil {
				got = o.Destination.Name
			}
			if got != want {
				t.Errorf("turn %d: %s asks %q, want %q", turn, authority, got, want)
			}
		}
	}
}
