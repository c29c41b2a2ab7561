package syncstatus

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/truncate"
)

// Delta is the form of the protocol in which responses hold what changed.
const Delta = "delta"

// StateOfTheWorld is the form in which responses hold all of a type.
const StateOfTheWorld = "sotw"

// Peer is the other side of a stream.
type Peer struct {
	Dataplane api.Ref
	Stream    uint64 // unique in this server
	Protocol  string // delta, sotw
	// Client, Version and Agent are as in Status.
	Client, Version, Agent string
	// Proof is who it has proved to be, of a sidecar whose agent makes no key for its workload;
	// nil of all others.
	Proof *authn.Identity
	// Features are those of its agent.
	Features bootstrap.AgentFeatures
}

// IsGRPC reports whether what a client says of itself is what gRPC's own clients say, which have no
// sidecar: "gRPC Go", "grpc-java".
func IsGRPC(client string) bool { return strings.HasPrefix(strings.ToLower(client), "grpc") }

// PeerOf is what a node says of itself.
func PeerOf(ref api.Ref, form string, node *corev3.Node, n uint64) Peer {
	p := Peer{Dataplane: ref, Stream: n, Protocol: form,
		Client: truncate.Text(node.GetUserAgentName(), truncate.Claim), Version: truncate.Text(node.GetUserAgentVersion(), truncate.Claim)}
	if v := node.GetUserAgentBuildVersion().GetVersion(); v != nil {
		p.Version = fmt.Sprintf("%d.%d.%d", v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
	}
	if p.Agent = agentOf(node, agentWeft).GetStringValue(); p.Agent == "" {
		p.Agent = agentOf(node, agentKuma).GetStructValue().GetFields()["version"].GetStringValue()
	}
	var features []string
	for _, v := range node.GetMetadata().GetFields()["features"].GetListValue().GetValues() {
		features = append(features, v.GetStringValue())
	}
	p.Features = bootstrap.FeaturesOf(features)
	return p
}

// agentWeft is what weft's agent says it is in the metadata of its node (spec/kuma.md 6).
const agentWeft = "weft"

// agentKuma is what a kuma-dp says it is there.
const agentKuma = "kumaDp"

// agentOf is what a node says of the version of an agent; nil for nothing.
func agentOf(node *corev3.Node, agent string) *structpb.Value {
	return node.GetMetadata().GetFields()["version"].GetStructValue().GetFields()[agent]
}

// MakesNoKey reports whether a node is that of a kuma-dp, which leaves keys to its control plane.
func MakesNoKey(node *corev3.Node) bool {
	return agentOf(node, agentKuma) != nil && agentOf(node, agentWeft) == nil
}
