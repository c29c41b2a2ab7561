package resource

import (
	"fmt"

	secretv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// Config is the resource as JSON in lines, as spec/kuma.md 5.2 has the configuration of a
// dataplane. Of a secret it has the name alone.
func (r *Resource) Config() ([]byte, error) {
	m, err := r.Content().UnmarshalNew()
	if err != nil {
		return nil, fmt.Errorf("print %s: %w", r.Name, err)
	}
	if _, secret := m.(*secretv3.Secret); secret {
		m = &secretv3.Secret{Name: r.Name}
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true, Multiline: true, Indent: " "}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("print %s: %w", r.Name, err)
	}
	return text, nil
}
