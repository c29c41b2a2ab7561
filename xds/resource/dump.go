package resource

import (
	"bytes"
	"encoding/json"
	"fmt"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/xds/envoy"
)

// Dump is resources as Envoy's config_dump?include_eds would say that it holds them. Of
// secrets it has the names alone.
func Dump(s *State) ([]byte, error) {
	clusters, endpoints := &adminv3.ClustersConfigDump{}, &adminv3.EndpointsConfigDump{}
	listeners, routes, secrets := &adminv3.ListenersConfigDump{}, &adminv3.RoutesConfigDump{}, &adminv3.SecretsConfigDump{}
	for _, r := range s.Clusters {
		clusters.DynamicActiveClusters = append(clusters.DynamicActiveClusters, &adminv3.ClustersConfigDump_DynamicCluster{VersionInfo: r.Version, Cluster: r.Content()})
	}
	for _, r := range s.Endpoints {
		endpoints.DynamicEndpointConfigs = append(endpoints.DynamicEndpointConfigs, &adminv3.EndpointsConfigDump_DynamicEndpointConfig{VersionInfo: r.Version, EndpointConfig: r.Content()})
	}
	for _, r := range s.Listeners {
		listeners.DynamicListeners = append(listeners.DynamicListeners, &adminv3.ListenersConfigDump_DynamicListener{Name: r.Name,
			ActiveState: &adminv3.ListenersConfigDump_DynamicListenerState{VersionInfo: r.Version, Listener: r.Content()}})
	}
	for _, r := range s.Routes {
		routes.DynamicRouteConfigs = append(routes.DynamicRouteConfigs, &adminv3.RoutesConfigDump_DynamicRouteConfig{VersionInfo: r.Version, RouteConfig: r.Content()})
	}
	for _, r := range s.Secrets {
		secrets.DynamicActiveSecrets = append(secrets.DynamicActiveSecrets, &adminv3.SecretsConfigDump_DynamicSecret{Name: r.Name, VersionInfo: r.Version})
	}
	text := bytes.NewBufferString(`{"weft":{"source":"sent"},"configs":[`)
	for i, part := range []proto.Message{clusters, endpoints, listeners, routes, secrets} {
		if i > 0 {
			text.WriteByte(',')
		}
		config, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(envoy.Pack(part))
		if err != nil {
			return nil, fmt.Errorf("dump what was sent: %w", err)
		}
		text.Write(config)
	}
	text.WriteString("]}")
	var lines bytes.Buffer
	if err := json.Indent(&lines, text.Bytes(), "", " "); err != nil {
		return nil, fmt.Errorf("dump what was sent: %w", err)
	}
	return lines.Bytes(), nil
}
