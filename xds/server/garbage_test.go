package server_test

import (
	"context"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/xds/server"
)

// TestGarbage: whatever a client sends, no stream of another fails, and its own
// ends by no bug.
func TestGarbage(t *testing.T) {
	t.Parallel()
	p := two(t, func(o *server.Options) { o.StreamsPerIdentity = 10 })
	conn := dial(t, p.addr)
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"web:8080", "a:8080", "outbound:web:8080", "*", "", "x"}), 0, 3)
	url := rapid.SampledFrom([]string{short["cds"], short["eds"], short["lds"], short["rds"], "type.googleapis.com/unknown"})
	nonce := rapid.SampledFrom([]string{"", "1", "2", "3", "x"})
	words := rapid.SampledFrom([]string{"", "", "bad", "web:8080 is bad"})
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"default.front", "default.nobody"}).Draw(t, "node")
		ctx, end := context.WithCancel(context.Background())
		defer end()
		ads := discoveryv3.NewAggregatedDiscoveryServiceClient(conn)
		n := rapid.IntRange(1, 12).Draw(t, "requests")
		var recv func() error
		if rapid.Bool().Draw(t, "delta") {
			s, err := ads.DeltaAggregatedResources(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				q := &discoveryv3.DeltaDiscoveryRequest{Node: node(id), TypeUrl: url.Draw(t, "type"), ResponseNonce: nonce.Draw(t, "nonce"),
					ResourceNamesSubscribe: names.Draw(t, "add"), ResourceNamesUnsubscribe: names.Draw(t, "drop"), ErrorDetail: detail(words.Draw(t, "words")),
					InitialResourceVersions: rapid.MapOf(rapid.SampledFrom([]string{"web:8080", "old"}), rapid.SampledFrom([]string{"", "1.2", "."})).Draw(t, "known")}
				_ = s.Send(q)
			}
			_ = s.CloseSend()
			recv = func() error { _, err := s.Recv(); return err }
		} else {
			s, err := ads.StreamAggregatedResources(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				_ = s.Send(&discoveryv3.DiscoveryRequest{Node: node(id), TypeUrl: url.Draw(t, "type"), ResponseNonce: nonce.Draw(t, "nonce"),
					ResourceNames: names.Draw(t, "names"), VersionInfo: nonce.Draw(t, "version"), ErrorDetail: detail(words.Draw(t, "words"))})
			}
			_ = s.CloseSend()
			recv = func() error { _, err := s.Recv(); return err }
		}
		for {
			if err := recv(); err != nil {
				if c := grpcstatus.Code(err); c == codes.Internal || c == codes.Unavailable {
					t.Fatal(err)
				}
				break
			}
		}
	})
	c := p.delta("default.other", "")
	c.configure()
	p.synced("other")
}
