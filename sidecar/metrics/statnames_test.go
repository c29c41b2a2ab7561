package metrics

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/sidecar/attach"
)

// TestFiguresOfAddresses: what Envoy says of connection managers and virtual hosts whose names have dots is one
// family, at one place, with the whole name in its label.
func TestFiguresOfAddresses(t *testing.T) {
	t.Parallel()
	const said = `# TYPE envoy_http_0_0_1_8080_downstream_rq_total counter
envoy_http_0_0_1_8080_downstream_rq_total{envoy_http_conn_manager_prefix="inbound_127"} 1
# TYPE envoy_http_0_0_1_8080_mtls_downstream_rq_total counter
envoy_http_0_0_1_8080_mtls_downstream_rq_total{envoy_http_conn_manager_prefix="inbound_127"} 2
# TYPE envoy_cluster_upstream_rq counter
envoy_cluster_upstream_rq{envoy_cluster_name="web_80"} 3
# TYPE envoy_http_downstream_rq_total counter
envoy_http_downstream_rq_total{envoy_http_conn_manager_prefix="web_80"} 4
# TYPE envoy_http_downstream_rq_http1_total counter
envoy_http_downstream_rq_http1_total{envoy_http_conn_manager_prefix="web_80"} 5
# TYPE envoy_vhost_route_upstream_rq_time histogram
envoy_vhost_route_upstream_rq_time_bucket{envoy_virtual_host="web_80",le="5"} 6
# TYPE envoy_vhost_shop_svc_443_route_upstream_rq_time histogram
envoy_vhost_shop_svc_443_route_upstream_rq_time_bucket{envoy_virtual_host="web",le="5"} 7
`
	const want = `# TYPE envoy_cluster_upstream_rq counter
envoy_cluster_upstream_rq{mesh="m",envoy_cluster_name="web_80"} 3
# TYPE envoy_http_downstream_rq_total counter
envoy_http_downstream_rq_total{mesh="m",envoy_http_conn_manager_prefix="inbound_127_0_0_1_8080"} 1
envoy_http_downstream_rq_total{mesh="m",envoy_http_conn_manager_prefix="inbound_127_0_0_1_8080_mtls"} 2
envoy_http_downstream_rq_total{mesh="m",envoy_http_conn_manager_prefix="web_80"} 4
# TYPE envoy_http_downstream_rq_http1_total counter
envoy_http_downstream_rq_http1_total{mesh="m",envoy_http_conn_manager_prefix="web_80"} 5
# TYPE envoy_vhost_route_upstream_rq_time histogram
envoy_vhost_route_upstream_rq_time_bucket{mesh="m",envoy_virtual_host="web_80",le="5"} 6
envoy_vhost_route_upstream_rq_time_bucket{mesh="m",envoy_virtual_host="web_shop_svc_443",le="5"} 7
`
	conf := &told{&attach.Metrics{}, choice{profile: attach.Metrics_ALL}, labels{{meshLabel, "m"}}}
	var got strings.Builder
	if err := families(strings.NewReader(said), conf, func(f *family) error { return f.write(&got) }); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
}
