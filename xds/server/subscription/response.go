package subscription

import (
	"context"
	"hash/fnv"
	"iter"
	"strconv"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Recipient is the stream that a response goes to.
type Recipient interface {
	// Returned takes note, under the lock of the stream, that what a response leaves the client with counts as
	// sent, and gives the map that the library then notes names in; see LastSent.unsubscribed.
	Returned(*Response) map[string]string
}

// Response is one answer in either form of the protocol. The library writes a
// nonce into the message, so each stream has its own; what is in it is shared.
type Response struct {
	Type     ResourceType
	Revision uint64
	Changed  []Versioned // of what is sent what the client does not have yet
	Removed  []string    // delta only
	At       time.Time   // when it was sent; zero before

	to    Recipient
	full  *fullRequest // that is answered; nil for one of the delta form
	list  []Versioned  // all that is sent
	part  bool         // the next response has more
	next  LastSent     // what the client has then
	nonce string
}

var (
	_ cache.Response      = (*Response)(nil)
	_ cache.DeltaResponse = (*Response)(nil)
)

// version of a state of the world: a hash of what the client has then, in any order.
func (r *Response) version() string {
	var sum uint64
	for name, version := range r.next.All() {
		h := fnv.New64a()
		h.Write([]byte(name))
		h.Write([]byte{0})
		h.Write([]byte(version))
		sum += h.Sum64()
	}
	return strconv.FormatUint(sum, 16)
}

// Send hands the response to the library: to where the request says, or in the delta form to delta.
func (r *Response) Send(delta chan cache.DeltaResponse) {
	if r.full != nil {
		r.full.out <- r
		return
	}
	delta <- r
}

// Names are those of all that the client is sent and loses by it.
func (r *Response) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, v := range r.list {
			if !yield(v.Name) {
				return
			}
		}
		for _, name := range r.Removed {
			if !yield(name) {
				return
			}
		}
	}
}

// bytes is the size of the resources.
func (r *Response) bytes() int {
	n := 0
	for _, v := range r.list {
		n += v.Size()
	}
	return n
}

// Push is what observers are told of it.
func (r *Response) Push() syncstatus.Push {
	return syncstatus.Push{Type: r.Type.String(), Resources: len(r.list), Removed: len(r.Removed), Bytes: r.bytes(), Revision: r.Revision}
}

// GetDiscoveryResponse is called once, when the response is sent.
func (r *Response) GetDiscoveryResponse() (*discoveryv3.DiscoveryResponse, error) {
	out := &discoveryv3.DiscoveryResponse{TypeUrl: urls[r.Type], VersionInfo: r.version()}
	for _, v := range r.list {
		out.Resources = append(out.Resources, v.Content())
	}
	return out, nil
}

// GetDeltaDiscoveryResponse is called once, when the response is sent.
func (r *Response) GetDeltaDiscoveryResponse() (*discoveryv3.DeltaDiscoveryResponse, error) {
	out := &discoveryv3.DeltaDiscoveryResponse{
		TypeUrl: urls[r.Type], SystemVersionInfo: strconv.FormatUint(r.Revision, 10), RemovedResources: r.Removed,
	}
	shells := make([]discoveryv3.Resource, len(r.list))
	for i, v := range r.list {
		shells[i].Name, shells[i].Version, shells[i].Resource = v.Name, v.version, v.Content()
		out.Resources = append(out.Resources, &shells[i])
	}
	return out, nil
}

// GetRequest is the request that is answered.
func (r *Response) GetRequest() *discoveryv3.DiscoveryRequest { return r.full.DiscoveryRequest }

// deltaRequestOf stand for the requests of each type that are answered.
var deltaRequestOf = func() (all [Types]*discoveryv3.DeltaDiscoveryRequest) {
	for t, url := range urls {
		all[t] = &discoveryv3.DeltaDiscoveryRequest{TypeUrl: url}
	}
	return all
}()

// GetDeltaRequest has the type of the request that is answered.
func (r *Response) GetDeltaRequest() *discoveryv3.DeltaDiscoveryRequest {
	return deltaRequestOf[r.Type]
}

// GetReturnedResources is called once, when the response counts as sent: the library
// asks what the client has then, and keeps the answer for good. The stream keeps it
// instead, in less space; the library gets an empty map for what it notes there, one for all types:
// what it notes of the names in a request is read before the next one, see LastSent.unsubscribed.
func (r *Response) GetReturnedResources() map[string]string { return r.to.Returned(r) }

// GetNextVersionMap is GetReturnedResources for delta.
func (r *Response) GetNextVersionMap() map[string]string { return r.GetReturnedResources() }

// GetVersion is part of the library's interface, for caches that keep versions of a type.
func (r *Response) GetVersion() (string, error) { return r.version(), nil }

// GetSystemVersion is GetVersion for delta.
func (r *Response) GetSystemVersion() (string, error) { return r.GetResponseVersion(), nil }

// GetResponseVersion tells people the revision.
func (r *Response) GetResponseVersion() string { return strconv.FormatUint(r.Revision, 10) }

// GetContext carries nothing.
func (r *Response) GetContext() context.Context { return context.Background() }
