// Package resource is Envoy's resources as they are sent: serialised once for all who hold them, by
// name, with a version that is a hash of the content. It knows nothing of what they are made from.
package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/envoy"
)

// The types of resources that weft serves.
const (
	ListenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RouteType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	ClusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	SecretType   = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
)

// typeURL is one text for all messages of a type.
func typeURL(m proto.Message) string {
	name := string(m.ProtoReflect().Descriptor().FullName())
	for _, url := range []string{ListenerType, RouteType, ClusterType, EndpointType, SecretType} {
		if strings.TrimPrefix(url, typePrefix) == name {
			return url
		}
	}
	return typePrefix + name
}

const typePrefix = "type.googleapis.com/"

// Resource is one object as Envoy gets it, serialised once for all who hold it.
// It is immutable; equal content has equal bytes and an equal version.
type Resource struct {
	Name    string
	Type    string // type URL
	Version string // hash of the content
	content *anypb.Any
	// remade has the content, as its part, where only one sidecar has it, and content is nil.
	remade *remade
	part   uint8
	size   uint32 // of the content, in bytes
	// Clusters are the clusters that a listener or route configuration names,
	// sorted, without those that cannot exist by design.
	Clusters []string
	// Routes are the route configurations that a listener names, sorted.
	Routes []string
	// EDS says that the endpoints of a cluster come in a resource of their own,
	// of the cluster's name.
	EDS bool
	// Resolves says that a cluster is reached by names, which Envoy asks DNS for before it uses the cluster.
	Resolves bool
	// Checks is how long a cluster that is new may check its endpoints before any of them counts as well, and
	// requests to it fail meanwhile; 0 where it checks none.
	Checks time.Duration
	// Beside are clusters that a listener needs beside those of destinations: who has it gets them too.
	Beside []Beside
	// Notes are what could not be rendered as its writer meant.
	Notes []api.Note
}

// Beside is a cluster, and whose values ask for it.
type Beside struct {
	envoy.OwnCluster
	By []*api.Origin
}

// New serialises m under name.
func New(name string, m proto.Message) *Resource {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic("marshal " + name + ": " + err.Error()) // only for text that is no UTF-8, which decoding never lets in
	}
	url := typeURL(m)
	return &Resource{
		Name:     name,
		Type:     url,
		Version:  VersionOf(b),
		content:  &anypb.Any{TypeUrl: url, Value: b},
		size:     uint32(len(b)), // Envoy takes no message of 4 GiB
		Resolves: resolves(m),
	}
}

// resolves reports whether m is a cluster that is reached by names.
func resolves(m proto.Message) bool {
	c, ok := m.(*clusterv3.Cluster)
	return ok && (c.GetType() == clusterv3.Cluster_STRICT_DNS || c.GetType() == clusterv3.Cluster_LOGICAL_DNS)
}

// Content is what Envoy is sent; nobody may change it. What was released may have to be made first.
func (r *Resource) Content() *anypb.Any {
	if r.remade != nil {
		return r.remade.part(r.part)
	}
	return r.content
}

// Size is how many bytes the content has.
func (r *Resource) Size() int { return int(r.size) }

// With is r with other content under the same version, for tests that serve what weft never
// renders.
func (r *Resource) With(content *anypb.Any) *Resource {
	out := *r
	out.content, out.remade, out.size = content, nil, uint32(len(content.GetValue()))
	return &out
}

// VersionOf is a version of content.
func VersionOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:10])
}
