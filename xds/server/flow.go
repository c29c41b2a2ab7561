package server

import (
	"strconv"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// kind is one of the five types of resources, in the order in which a stream is
// served: what is named comes before what names it.
type kind int

const (
	clusters kind = iota
	endpoints
	secrets
	listeners
	routes
	kinds
)

var (
	urls  = [kinds]string{resource.ClusterType, resource.EndpointType, resource.SecretType, resource.ListenerType, resource.RouteType}
	names = [kinds]string{"cds", "eds", "sds", "lds", "rds"}
)

// kindOf is false for types that weft does not serve.
func kindOf(url string) (kind, bool) {
	for k, u := range urls {
		if u == url {
			return kind(k), true
		}
	}
	return 0, false
}

// of is the list of one kind.
func (k kind) of(s *resource.State) []*resource.Resource {
	switch k {
	case clusters:
		return s.Clusters
	case endpoints:
		return s.Endpoints
	case secrets:
		return s.Secrets
	case listeners:
		return s.Listeners
	}
	return s.Routes
}

// whole reports whether a state-of-the-world response of k means that whatever
// it leaves out is gone.
func (k kind) whole() bool { return k == clusters || k == listeners }

// flow is one type on one stream. At any time it is either open (the client
// waits for a change), queued (the library has a response to send), or out (the
// client has a response to answer).
type flow struct {
	kind   kind
	watch  watch // what the client asked for last
	open   bool
	queued *response
	out    *response

	asked bool // the client ever subscribed
	named bool // to a name, or to the wildcard
	told  told // what the client has
	sent  bool // anything was ever sent
	acked bool // anything was ever confirmed

	// refused maps the name of a resource to the version that the client does
	// not take.
	refused map[string]string
	// forced are versions that must go out again though their content did not
	// change.
	forced map[string]forced
	most   int // the greatest suffix that any version had
	// remove are names to remove of which the library does not know that the
	// client may have them.
	remove map[string]bool
	// limit bounds the changes of one response while a refusal that names
	// nothing is tracked down; 0 is no limit.
	limit int
	// good is the last state of the world that the client confirmed.
	good []versioned
	// quiet says that the client has all that it may have now.
	quiet bool
	// owed says that there is more to send it, now or later, than what it refuses.
	owed bool
	// covers is the stream's turn at which the client had, or was being sent, all
	// that it may have: until the next turn there is nothing to say. 0 is never.
	covers uint64
	names  []string // that a state-of-the-world client asked for last
	// resent is when a refused response was last replaced, resendAt the earliest
	// time for the next replacement.
	resent, resendAt time.Time
	total            syncstatus.TypeStatus
}

// forced is a version with a suffix, for as long as the content is hash.
type forced struct {
	hash string
	n    int
}

// watch is a request of the library. Most of the time a stream waits for changes of each type, so
// that nothing is kept that does not matter then.
type watch struct {
	names    map[string]struct{} // that the client subscribes to; the library's, see stream.suspend
	wildcard bool
	full     *fullRequest // nil for one of the delta form
}

// fullRequest is a request of the state-of-the-world form, and where the answer goes. Those of the
// delta form all go to stream.deltaOut.
type fullRequest struct {
	*discoveryv3.DiscoveryRequest
	out chan cache.Response
}

func watchOf(sub cache.Subscription) watch {
	return watch{names: sub.SubscribedResources(), wildcard: sub.IsWildcard()}
}

func (w *watch) isDelta() bool { return w.full == nil }

// deltaRequestOf stand for the requests of each type that are answered.
var deltaRequestOf = func() (all [kinds]*discoveryv3.DeltaDiscoveryRequest) {
	for k, url := range urls {
		all[k] = &discoveryv3.DeltaDiscoveryRequest{TypeUrl: url}
	}
	return all
}()

// wants reports whether the client asked for name.
func (w *watch) wants(name string) bool {
	_, ok := w.names[name]
	return ok || w.wildcard
}

// versioned is a resource with the version under which one stream has it.
type versioned struct {
	*resource.Resource
	version string
	again   bool // the client has, or had, another version of it
}

// as is r under its version on this stream: <content hash>[.<n>].
func (f *flow) as(r *resource.Resource) versioned {
	if x, ok := f.forced[r.Name]; ok {
		if x.hash == r.Version {
			return versioned{Resource: r, version: r.Version + "." + strconv.Itoa(x.n)}
		}
	}
	return versioned{Resource: r, version: r.Version}
}

// force makes what the client has of r look outdated.
func (f *flow) force(name, hash string) {
	if f.forced == nil {
		f.forced = map[string]forced{}
	}
	f.most++
	f.forced[name] = forced{hash, f.most}
	f.covers = 0
}

// settle lets go of the suffixes of what a client of the delta form has confirmed: it has the
// content, and the next suffix is greater, so nobody needs to know any more by which version it came.
// Want is what it should have of the type. With them a stream would keep all names of a type whose
// clusters have changed once, as all do where mutual TLS is switched on.
func (f *flow) settle(list []versioned, want []*resource.Resource) {
	var settled []versioned
	for _, v := range list {
		if had, _ := f.told.version(v.Name); v.version == v.Version || had != v.version || f.as(v.Resource).version != v.version {
			continue
		}
		delete(f.forced, v.Name)
		settled = append(settled, versioned{Resource: v.Resource, version: v.Version})
	}
	if len(f.forced) == 0 {
		f.forced = nil
	}
	if len(settled) > 0 {
		f.told = f.told.with(want, settled, nil)
	}
}

// floor keeps suffixes of this stream above those that the client brought along.
func (f *flow) floor() {
	for name, version := range f.told.all() {
		hash, suffix, ok := strings.Cut(version, ".")
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(suffix); err == nil {
			if f.forced == nil {
				f.forced = map[string]forced{}
			}
			if x, ok := f.forced[name]; ok {
				hash, n = x.hash, max(x.n, n+1)
			}
			f.most = max(f.most, n)
			f.forced[name] = forced{hash, n}
		}
	}
}

// forget drops what was remembered of resources that are not in list.
func (f *flow) forget(list []*resource.Resource) {
	for name, version := range f.refused {
		if r := find(list, name); r == nil || r.Version != version {
			delete(f.refused, name)
		}
	}
	for name := range f.forced {
		if find(list, name) == nil {
			delete(f.forced, name)
		}
	}
}

// cover notes at a turn whether the client has all, or is being sent it.
func (f *flow) cover(turn uint64, all bool) {
	if f.covers = 0; all {
		f.covers = turn
	}
}
