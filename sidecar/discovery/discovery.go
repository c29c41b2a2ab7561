// Package discovery serves the sidecar's Envoy what its agent has for it by Envoy's discovery services, in the
// state-of-the-world form. go-control-plane has a server of that, by which the agent would depend on all of
// Envoy's API.
//
// It promises that Envoy gets what it names as soon as there is such a thing, and again when that changes.
package discovery

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Stream is one on which Envoy asks for resources of one type.
type Stream interface {
	Context() context.Context
	Recv() (*discoveryv3.DiscoveryRequest, error)
	Send(*discoveryv3.DiscoveryResponse) error
}

// ServedResources are what Envoy may ask for by one type. Any number of goroutines may use it.
type ServedResources struct {
	mu      sync.Mutex
	version int
	named   map[string]*anypb.Any
	changed chan struct{} // closed when one changes, then replaced
}

// New has nothing yet.
func New() *ServedResources {
	return &ServedResources{named: map[string]*anypb.Any{}, changed: make(chan struct{})}
}

// Put serves a resource under a name. It fails where m cannot be encoded.
func (s *ServedResources) Put(name string, m proto.Message) error {
	resource, err := anypb.New(m)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named[name] = resource
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// get is what there is of the names, and a channel that is closed when that may have changed.
func (s *ServedResources) get(names []string) (found map[string]*anypb.Any, version string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found = map[string]*anypb.Any{}
	for _, name := range names {
		if r := s.named[name]; r != nil {
			found[name] = r
		}
	}
	return found, strconv.Itoa(s.version), s.changed
}

// Serve sends the resources that Envoy names when there are any, and again when one changes, until the stream
// ends.
func (s *ServedResources) Serve(stream Stream) error {
	ctx := stream.Context()
	requests := requestsOf(stream)
	var names []string
	var sent map[string]*anypb.Any
	for nonce := 0; ; {
		found, version, changed := s.get(names)
		if len(found) > 0 && !maps.Equal(found, sent) {
			nonce++
			if err := stream.Send(response(found, version, strconv.Itoa(nonce))); err != nil {
				return err
			}
			sent = found
		}
		select {
		case r, ok := <-requests:
			if !ok {
				return nil
			}
			if r.ResponseNonce == "" || r.ResponseNonce == strconv.Itoa(nonce) { // else it answers what is not the last
				names = r.ResourceNames
			}
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// requestsOf are what Envoy asks for on a stream; closed at its end.
func requestsOf(stream Stream) <-chan *discoveryv3.DiscoveryRequest {
	requests := make(chan *discoveryv3.DiscoveryRequest)
	go func() {
		defer close(requests)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case requests <- r:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	return requests
}

func response(found map[string]*anypb.Any, version, nonce string) *discoveryv3.DiscoveryResponse {
	out := &discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: nonce}
	for _, r := range found {
		out.TypeUrl = r.TypeUrl
		out.Resources = append(out.Resources, r)
	}
	return out
}
