package server

import (
	"context"
	"hash/fnv"
	"strconv"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// response is one answer in either form of the protocol. The library writes a
// nonce into the message, so each stream has its own; what is in it is shared.
type response struct {
	stream   *stream
	kind     kind
	full     *fullRequest // that is answered; nil for one of the delta form
	list     []versioned  // all that is sent
	changed  []versioned  // the part of it that the client does not have yet
	removed  []string     // delta only
	part     bool         // the next response has more
	next     told         // what the client has then
	revision uint64

	nonce string
	at    time.Time
}

var (
	_ cache.Response      = (*response)(nil)
	_ cache.DeltaResponse = (*response)(nil)
)

// version of a state of the world: a hash of what the client has then, in any order.
func (r *response) version() string {
	var sum uint64
	for name, version := range r.next.all() {
		h := fnv.New64a()
		h.Write([]byte(name))
		h.Write([]byte{0})
		h.Write([]byte(version))
		sum += h.Sum64()
	}
	return strconv.FormatUint(sum, 16)
}

// bytes is the size of the resources.
func (r *response) bytes() int {
	n := 0
	for _, v := range r.list {
		n += v.Size()
	}
	return n
}

func (r *response) push() syncstatus.Push {
	return syncstatus.Push{Type: names[r.kind], Resources: len(r.list), Removed: len(r.removed), Bytes: r.bytes(), Revision: r.revision}
}

// GetDiscoveryResponse is called once, when the response is sent.
func (r *response) GetDiscoveryResponse() (*discoveryv3.DiscoveryResponse, error) {
	out := &discoveryv3.DiscoveryResponse{TypeUrl: urls[r.kind], VersionInfo: r.version()}
	for _, v := range r.list {
		out.Resources = append(out.Resources, v.Content())
	}
	return out, nil
}

// GetDeltaDiscoveryResponse is called once, when the response is sent.
func (r *response) GetDeltaDiscoveryResponse() (*discoveryv3.DeltaDiscoveryResponse, error) {
	out := &discoveryv3.DeltaDiscoveryResponse{
		TypeUrl: urls[r.kind], SystemVersionInfo: strconv.FormatUint(r.revision, 10), RemovedResources: r.removed,
	}
	shells := make([]discoveryv3.Resource, len(r.list))
	for i, v := range r.list {
		shells[i].Name, shells[i].Version, shells[i].Resource = v.Name, v.version, v.Content()
		out.Resources = append(out.Resources, &shells[i])
	}
	return out, nil
}

// GetRequest is the request that is answered.
func (r *response) GetRequest() *discoveryv3.DiscoveryRequest { return r.full.DiscoveryRequest }

// GetDeltaRequest has the type of the request that is answered.
func (r *response) GetDeltaRequest() *discoveryv3.DeltaDiscoveryRequest {
	return deltaRequestOf[r.kind]
}

// GetReturnedResources is called once, when the response counts as sent: the library
// asks what the client has then, and keeps the answer for good. The stream keeps it
// instead, in less space; the library gets an empty map for what it notes there, one for all types:
// what it notes of the names in a request is read before the next one, see told.unsubscribed.
func (r *response) GetReturnedResources() map[string]string {
	st := r.stream
	st.mu.Lock()
	defer st.mu.Unlock()
	st.flows[r.kind].told = r.next
	if st.noted == nil || len(st.noted) > 0 {
		st.noted = map[string]string{}
	}
	return st.noted
}

// GetNextVersionMap is GetReturnedResources for delta.
func (r *response) GetNextVersionMap() map[string]string { return r.GetReturnedResources() }

// GetVersion is part of the library's interface, for caches that keep versions of a type.
func (r *response) GetVersion() (string, error) { return r.version(), nil }

// GetSystemVersion is GetVersion for delta.
func (r *response) GetSystemVersion() (string, error) { return r.GetResponseVersion(), nil }

// GetResponseVersion tells people the revision.
func (r *response) GetResponseVersion() string { return strconv.FormatUint(r.revision, 10) }

// GetContext carries nothing.
func (r *response) GetContext() context.Context { return context.Background() }
