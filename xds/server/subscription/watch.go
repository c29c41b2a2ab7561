package subscription

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// watch is a request of the library. Most of the time a stream waits for changes of each type, so
// that nothing is kept that does not matter then.
type watch struct {
	names    map[string]struct{} // that the client subscribes to; the library's, which changes them between requests
	wildcard bool
	full     *fullRequest // nil for one of the delta form
}

// fullRequest is a request of the state-of-the-world form, and where the answer goes. Those of the
// delta form all go to one place.
type fullRequest struct {
	*discoveryv3.DiscoveryRequest
	out chan cache.Response
}

func watchOf(sub cache.Subscription) watch {
	return watch{names: sub.SubscribedResources(), wildcard: sub.IsWildcard()}
}

func (w *watch) isDelta() bool { return w.full == nil }

// wants reports whether the client asked for name.
func (w *watch) wants(name string) bool {
	_, ok := w.names[name]
	return ok || w.wildcard
}
