package xds_test

import (
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/bootstrap/render"
)

func config() render.Config {
	return render.Config{Mesh: "default", Name: "web-1", XDSHost: "127.0.0.1", XDSPort: 5678}
}

// TestBootstrapNamesTheNode holds the parts that other programs read: node id,
// regex budget, protocol form, token.
func TestBootstrapNamesTheNode(t *testing.T) {
	t.Parallel()
	c := config()
	c.Token = "abc"
	b, err := render.Bootstrap(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"id": "default.web-1"`, `"` + bootstrap.RegexBudgetKey + `": 5000`, `"DELTA_GRPC"`,
		`"Bearer abc"`, `"set_node_on_first_message_only": true`, `"initial_fetch_timeout": "0s"`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("bootstrap lacks %s:\n%s", want, b)
		}
	}
	c.StateOfTheWorld = true
	if b, _ = render.Bootstrap(c); !strings.Contains(string(b), `"api_type": "GRPC"`) {
		t.Errorf("state of the world: %s", b)
	}
}

// TestBootstraps compares whole bootstraps: over plaintext, over TLS to a host
// with a name, and over TLS to an address with a socket for administration.
func TestBootstraps(t *testing.T) {
	t.Parallel()
	plain, named, address, file, fallback, renewed := config(), config(), config(), config(), config(), config()
	plain.AdminPort, plain.Service, plain.Metadata = 9901, "web", map[string]any{"version": "1"}
	named.XDSHost, named.CA, named.Token = "control.example", "authority", "abc"
	address.CA, address.XDSHost, address.AdminSocket, address.SystemCA = "authority", "192.0.2.7", "/run/admin.sock", "/etc/authorities.pem"
	file.Token, file.TokenPath = "abc", "/run/token.json"
	fallback.XDSHost, fallback.CA, fallback.XDSAddress = "control.example", "authority", "10.96.0.5"
	renewed.XDSHost, renewed.CA, renewed.CAPath = "control.example", "authority", "/run/authorities.json"
	for name, c := range map[string]render.Config{"ca-file": renewed, "plain": plain, "named": named, "fallback": fallback, "address": address, "token-file": file} {
		text, err := render.Bootstrap(c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b := &bootstrapv3.Bootstrap{}
		if err := protojson.Unmarshal(text, b); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden(t, "bootstrap-"+name, b)
	}
}

func TestBootstrapRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*render.Config)
		want   string
	}{
		"no name":               {func(c *render.Config) { c.Name = "" }, "mesh and name"},
		"no port":               {func(c *render.Config) { c.XDSPort = 0 }, "is not the address of a control plane"},
		"token file over it":    {func(c *render.Config) { c.TokenPath, c.XDSHost = "x", "10.0.0.1" }, "would leave this host"},
		"no address":            {func(c *render.Config) { c.CA, c.XDSAddress = "x", "control.example" }, "give an IP address"},
		"nobody vouches":        {func(c *render.Config) { c.XDSAddress = "10.0.0.1" }, "an authority by which it is known"},
		"token over plain wire": {func(c *render.Config) { c.Token, c.XDSHost = "x", "10.0.0.1" }, "would leave this host"},
	} {
		c := config()
		tc.change(&c)
		if _, err := render.Bootstrap(c); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}
