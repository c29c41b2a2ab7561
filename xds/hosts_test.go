package xds_test

import (
	"fmt"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
)

// counting is a conf that counts the routes that it is written into.
type counting struct {
	timeout.Conf
	written int
}

func (c *counting) WriteRoute(*routev3.Route, envoy.Place) { c.written++ }

// TestAChangedHostCostsOneVirtualHost: of many hosts at one port those whose tables
// stay are not rendered again when another one changes.
func TestAChangedHostCostsOneVirtualHost(t *testing.T) {
	t.Parallel()
	const hosts = 20
	conf := &counting{}
	tableOf := func(i int) *effective.Table {
		name := fmt.Sprintf("h%02d.example.org", i)
		d := &effective.Destination{ID: "host_" + name + ":80", Kind: api.KindHost, Name: name, Port: 80, Protocol: api.HTTP}
		r := rest()
		r.Policies = effective.Policies{{Kind: &policies.Kind{Name: "Counting", Schema: timeout.Kind.Schema}, Conf: conf}}
		return &effective.Table{Destination: d, Routes: []*effective.Route{r}}
	}
	var tables []*effective.Table
	for i := range hosts {
		tables = append(tables, tableOf(i))
	}
	x, kept := renderer(), map[*effective.Table]*effective.Cache{}
	render := func() *routev3.RouteConfiguration {
		r := sidecar(tables, nil)
		for _, o := range r.Outbounds {
			if kept[o.Table] == nil {
				kept[o.Table] = effective.NewCache()
			}
			o.Port, o.Cache = 10080, kept[o.Table]
		}
		return envoytest.Open(t, x.Render(r).Routes[0], &routev3.RouteConfiguration{})
	}
	if n := len(render().VirtualHosts); n != hosts {
		t.Fatalf("%d virtual hosts", n)
	}
	before := conf.written
	tables[7] = tableOf(7)
	if n := len(render().VirtualHosts); n != hosts {
		t.Fatalf("%d virtual hosts", n)
	}
	if all, again := before, conf.written-before; again == 0 || again > all/hosts {
		t.Errorf("a changed host was written %d times, %d hosts %d times", again, hosts, all)
	}
}

// TestHostsHaveARouteConfigurationForEachUse: hosts at a port behind redirection, where what is
// for none of them passes through, are apart from those that an outbound names.
func TestHostsHaveARouteConfigurationForEachUse(t *testing.T) {
	t.Parallel()
	d := &effective.Destination{ID: "host_h.example:80", Kind: api.KindHost, Name: "h.example", Port: 80, Protocol: api.HTTP}
	for want, passthrough := range map[string]bool{"outbound:hosts:80": false, "outbound:hosts:80:passthrough": true} {
		r := sidecar([]*effective.Table{{Destination: d, Routes: []*effective.Route{rest()}}}, nil)
		r.Outbounds[0].Port, r.Outbounds[0].Passthrough = 10080, passthrough
		if got := envoytest.Open(t, renderer().Render(r).Routes[0], &routev3.RouteConfiguration{}).Name; got != want {
			t.Errorf("passthrough %v: %s, want %s", passthrough, got, want)
		}
	}
}
