package codec_test

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/xds/server/codec"
)

// TestCodec: whatever is encoded, a client decodes the same message.
func TestCodec(t *testing.T) {
	t.Parallel()
	encoder := codec.New()
	text := rapid.StringMatching(`[a-z:.]{0,300}`)
	packed := rapid.Custom(func(t *rapid.T) *anypb.Any {
		return &anypb.Any{TypeUrl: text.Draw(t, "type"), Value: []byte(strings.Repeat("x", rapid.IntRange(0, 2000).Draw(t, "size")))}
	})
	rapid.Check(t, func(t *rapid.T) {
		delta := &discoveryv3.DeltaDiscoveryResponse{
			SystemVersionInfo: text.Draw(t, "version"), TypeUrl: text.Draw(t, "url"), Nonce: text.Draw(t, "nonce"),
			RemovedResources: rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,9}`), 0, 3).Draw(t, "removed"),
		}
		full := &discoveryv3.DiscoveryResponse{VersionInfo: delta.SystemVersionInfo, TypeUrl: delta.TypeUrl, Nonce: delta.Nonce}
		for range rapid.IntRange(0, 4).Draw(t, "resources") {
			a := packed.Draw(t, "any")
			full.Resources = append(full.Resources, a)
			delta.Resources = append(delta.Resources, &discoveryv3.Resource{Name: text.Draw(t, "name"), Version: text.Draw(t, "version"), Resource: a})
		}
		if rapid.Bool().Draw(t, "rare") {
			delta.ControlPlane, full.Canary = &corev3.ControlPlane{Identifier: "weft"}, true
		}
		check(t, encoder, delta, &discoveryv3.DeltaDiscoveryResponse{})
		check(t, encoder, full, &discoveryv3.DiscoveryResponse{})
	})
}

func check(t rapid.TB, c codec.Codec, sent, got proto.Message) {
	b, err := c.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(b.Materialize(), got); err != nil || !proto.Equal(sent, got) {
		t.Fatalf("sent %v\ngot %v, %v", sent, got, err)
	}
}

// TestCodecOfWhatWeftDoesNotSend: a field that only others set is encoded too,
// each for itself.
func TestCodecOfWhatWeftDoesNotSend(t *testing.T) {
	t.Parallel()
	encoder := codec.New()
	for _, r := range []*discoveryv3.Resource{
		{ResourceName: &discoveryv3.ResourceName{Name: "a"}},
		{Ttl: durationpb.New(1)},
		{CacheControl: &discoveryv3.Resource_CacheControl{DoNotCache: true}},
		{Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"a": {}}}},
		{Aliases: []string{"a"}},
	} {
		check(t, encoder, &discoveryv3.DeltaDiscoveryResponse{Resources: []*discoveryv3.Resource{{Name: "plain"}, r}}, &discoveryv3.DeltaDiscoveryResponse{})
	}
	failed := []*discoveryv3.ResourceError{{ResourceName: &discoveryv3.ResourceName{Name: "a"}}}
	for _, d := range []*discoveryv3.DeltaDiscoveryResponse{
		{ControlPlane: &corev3.ControlPlane{Identifier: "weft"}}, {RemovedResourceNames: []*discoveryv3.ResourceName{{Name: "a"}}}, {ResourceErrors: failed},
	} {
		check(t, encoder, d, &discoveryv3.DeltaDiscoveryResponse{})
	}
	for _, d := range []*discoveryv3.DiscoveryResponse{{ControlPlane: &corev3.ControlPlane{Identifier: "weft"}}, {Canary: true}, {ResourceErrors: failed}} {
		check(t, encoder, d, &discoveryv3.DiscoveryResponse{})
	}
}
