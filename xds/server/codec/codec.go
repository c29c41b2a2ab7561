// Package codec encodes what a gRPC server of ADS sends. All streams that are sent a resource share its bytes.
package codec

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
)

// Codec encodes messages as gRPC does, but does not copy the resources in a
// response: all streams that are sent the same resource send the same bytes, and
// a response in flight costs its own few bytes, however large it is.
type Codec struct{ encoding.CodecV2 }

// New is for the gRPC server on which a Server is registered.
func New() Codec { return Codec{encoding.GetCodecV2(proto.Name)} }

// Marshal encodes v. Responses must not be changed after it.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch r := v.(type) {
	case *discoveryv3.DeltaDiscoveryResponse:
		if r.ControlPlane == nil && len(r.RemovedResourceNames) == 0 && len(r.ResourceErrors) == 0 && plain(r.Resources) {
			return encodeDelta(r), nil
		}
	case *discoveryv3.DiscoveryResponse:
		if r.ControlPlane == nil && !r.Canary && len(r.ResourceErrors) == 0 {
			return encodeFull(r), nil
		}
	}
	return c.CodecV2.Marshal(v)
}

// plain reports whether resources have only the fields that weft sets.
func plain(list []*discoveryv3.Resource) bool {
	for _, r := range list {
		if r.ResourceName != nil || r.Ttl != nil || r.CacheControl != nil || r.Metadata != nil || len(r.Aliases) > 0 {
			return false
		}
	}
	return true
}

// The numbers of the fields in the messages.
const (
	fullVersion, fullResources, fullType, fullNonce                                    = 1, 2, 4, 5
	deltaVersion, deltaResources, deltaType, deltaNonce, deltaRemoved                  = 1, 2, 4, 5, 6
	resourceVersion, resourceValue, resourceName, anyType, anyValue   protowire.Number = 1, 2, 3, 1, 2
)

// copied is up to which size it is cheaper to copy a resource than to send it
// as a piece of its own.
const copied = 512

// pieces is a message under construction: what others send too between pieces of its own,
// which all lie in one buffer.
type pieces struct {
	done mem.BufferSlice
	own  []byte
	from int // where the newest piece of own begins
}

// newPieces has room for so many bytes of its own, or grows.
func newPieces(size int) *pieces { return &pieces{own: make([]byte, 0, size)} }

func (p *pieces) text(n protowire.Number, s string) {
	if s != "" {
		p.own = protowire.AppendTag(p.own, n, protowire.BytesType)
		p.own = protowire.AppendString(p.own, s)
	}
}

// head begins a message of size within the message.
func (p *pieces) head(n protowire.Number, size int) {
	p.own = protowire.AppendTag(p.own, n, protowire.BytesType)
	p.own = protowire.AppendVarint(p.own, uint64(size))
}

// shared appends bytes that others send too.
func (p *pieces) shared(n protowire.Number, b []byte) {
	if len(b) == 0 {
		return
	}
	p.head(n, len(b))
	if len(b) <= copied {
		p.own = append(p.own, b...)
		return
	}
	p.cut()
	p.done = append(p.done, mem.SliceBuffer(b))
}

// cut ends the newest piece of the message's own.
func (p *pieces) cut() {
	if p.from < len(p.own) {
		p.done = append(p.done, mem.SliceBuffer(p.own[p.from:len(p.own):len(p.own)]))
		p.from = len(p.own)
	}
}

func (p *pieces) any(n protowire.Number, a *anypb.Any) {
	p.head(n, anySize(a))
	p.text(anyType, a.GetTypeUrl())
	p.shared(anyValue, a.GetValue())
}

func (p *pieces) end() mem.BufferSlice {
	p.cut()
	return p.done
}

// overhead bounds what stands around the texts of a message, or of a resource in it: numbers
// of fields and lengths.
const overhead = 32

// ownSize bounds how many bytes of a are not shared.
func ownSize(a *anypb.Any) int {
	n := overhead + len(a.GetTypeUrl())
	if len(a.GetValue()) <= copied {
		n += len(a.GetValue())
	}
	return n
}

// fieldSize is the size of a field of n bytes whose number is below 16; empty
// ones are left out.
func fieldSize(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeBytes(n)
}

func anySize(a *anypb.Any) int {
	return fieldSize(len(a.GetTypeUrl())) + fieldSize(len(a.GetValue()))
}

func encodeDelta(r *discoveryv3.DeltaDiscoveryResponse) mem.BufferSlice {
	size := overhead + len(r.SystemVersionInfo) + len(r.TypeUrl) + len(r.Nonce)
	for _, name := range r.RemovedResources {
		size += overhead + len(name)
	}
	for _, x := range r.Resources {
		size += ownSize(x.Resource) + len(x.Version) + len(x.Name)
	}
	p := newPieces(size)
	p.text(deltaVersion, r.SystemVersionInfo)
	p.text(deltaType, r.TypeUrl)
	p.text(deltaNonce, r.Nonce)
	for _, name := range r.RemovedResources {
		p.text(deltaRemoved, name)
	}
	for _, x := range r.Resources {
		value := anySize(x.Resource)
		p.head(deltaResources, fieldSize(len(x.Version))+fieldSize(len(x.Name))+1+protowire.SizeBytes(value))
		p.text(resourceVersion, x.Version)
		p.text(resourceName, x.Name)
		p.any(resourceValue, x.Resource)
	}
	return p.end()
}

func encodeFull(r *discoveryv3.DiscoveryResponse) mem.BufferSlice {
	size := overhead + len(r.VersionInfo) + len(r.TypeUrl) + len(r.Nonce)
	for _, a := range r.Resources {
		size += ownSize(a)
	}
	p := newPieces(size)
	p.text(fullVersion, r.VersionInfo)
	p.text(fullType, r.TypeUrl)
	p.text(fullNonce, r.Nonce)
	for _, a := range r.Resources {
		p.any(fullResources, a)
	}
	return p.end()
}
