package timeout

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/weftmesh/weft/xds/envoy"
)

// WriteRoute sets the bounds of requests.
func (c *Conf) WriteRoute(r *routev3.Route, _ envoy.Place) {
	action := r.GetRoute()
	if action == nil || c.HTTP == nil {
		return
	}
	if d := c.HTTP.RequestTimeout; d != nil {
		action.Timeout = envoy.Duration(d)
	}
	if d := c.HTTP.StreamIdleTimeout; d != nil {
		action.IdleTimeout = envoy.Duration(d)
	}
}

// WriteCluster sets the bounds of connections, and of the streams on them.
func (c *Conf) WriteCluster(cluster *clusterv3.Cluster, options *upstreamhttpv3.HttpProtocolOptions, _ envoy.Place) {
	if c.ConnectionTimeout != nil {
		cluster.ConnectTimeout = envoy.Duration(c.ConnectionTimeout)
	}
	h := c.HTTP
	if h == nil {
		h = new(HTTP)
	}
	if options == nil || c.IdleTimeout == nil && h.MaxStreamDuration == nil && h.MaxConnectionDuration == nil {
		return
	}
	if options.CommonHttpProtocolOptions == nil {
		options.CommonHttpProtocolOptions = new(corev3.HttpProtocolOptions)
	}
	common := options.CommonHttpProtocolOptions
	if c.IdleTimeout != nil {
		common.IdleTimeout = envoy.Duration(c.IdleTimeout)
	}
	if h.MaxStreamDuration != nil {
		common.MaxStreamDuration = envoy.Duration(h.MaxStreamDuration)
	}
	if h.MaxConnectionDuration != nil {
		common.MaxConnectionDuration = envoy.Duration(h.MaxConnectionDuration)
	}
}

// WriteManager sets the bound of request headers.
func (c *Conf) WriteManager(m *hcmv3.HttpConnectionManager, _ envoy.Place) {
	if c.HTTP != nil && c.HTTP.RequestHeadersTimeout != nil {
		m.RequestHeadersTimeout = envoy.Duration(c.HTTP.RequestHeadersTimeout)
	}
}

// WriteTCP sets the idle timeout of connections that are not HTTP.
func (c *Conf) WriteTCP(t *tcpproxyv3.TcpProxy, _ envoy.Place) {
	if c.IdleTimeout != nil {
		t.IdleTimeout = envoy.Duration(c.IdleTimeout)
	}
}
