package deploy

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
)

//go:generate go run ../hack/gatewaybundle -to gateway-api

// Channels are those of the Gateway API, the one for production first.
var Channels = []string{"standard", "experimental"}

//go:embed gateway-api/*.yaml.gz
var bundles embed.FS

// GatewayAPI are the definitions of a channel of the Gateway API as its project publishes
// them, with the policy that guards upgrades: a stream of YAML.
func GatewayAPI(channel string) ([]byte, error) {
	packed, err := bundles.ReadFile("gateway-api/" + channel + ".yaml.gz")
	if err != nil {
		return nil, fmt.Errorf("no bundle of the Gateway API: %w", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the bundle of the Gateway API: %w", err)
	}
	return io.ReadAll(z)
}
