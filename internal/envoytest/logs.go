package envoytest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/resource"
)

// LogVerdicts asks one Envoy which of logs it takes in a listener: nil for those, an error for the others.
func LogVerdicts(t testing.TB, logs []*accesslogv3.AccessLog) []error {
	t.Helper()
	s := &resource.State{}
	for i, l := range logs {
		name := fmt.Sprintf("%05d", i)
		proxy := &tcpproxyv3.TcpProxy{StatPrefix: "x", ClusterSpecifier: &tcpproxyv3.TcpProxy_Cluster{Cluster: "nobody"}, AccessLog: []*accesslogv3.AccessLog{l}}
		s.Listeners = append(s.Listeners, resource.New(name, &listenerv3.Listener{
			Name: name, Address: envoy.Socket("127.0.0.1", uint32(1024+i)), BindToPort: wrapperspb.Bool(false),
			FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
				Name: "envoy.filters.network.tcp_proxy", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(proxy)},
			}}}},
		}))
	}
	f := Drive(t, s)
	defer f.Stop()
	f.Until("Envoy has an opinion of each listener", func() bool {
		seen := f.Stats("listener_manager.lds.update_")
		return seen["listener_manager.lds.update_success"]+seen["listener_manager.lds.update_rejected"] > 0
	})
	_, taken, err := f.Get("/listeners")
	if err != nil {
		t.Fatal(err)
	}
	out := make([]error, len(logs))
	for i := range logs {
		if !bytes.Contains(taken, fmt.Appendf(nil, "%05d::", i)) {
			out[i] = errors.New("refused")
		}
	}
	return out
}
