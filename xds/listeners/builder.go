package listeners

import (
	"slices"
	"strings"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// Builder makes listeners with the filters that kinds of policy ask for. It is immutable.
type Builder struct {
	http   []*hcmv3.HttpFilter // of every connection manager
	last   []*hcmv3.HttpFilter // of every one, right before the router
	guards []guard             // of inbounds where callers prove who they are
	// reports says that what becomes of requests is written to the agent.
	reports bool
}

// NewBuilder makes listeners for one set of kinds.
func NewBuilder(kinds []*policies.Kind) *Builder {
	b := &Builder{guards: guardsOf(kinds)}
	for _, k := range kinds {
		c := k.New()
		if w, ok := c.(envoy.HTTPFilterWriter); ok {
			b.http = append(b.http, w.HTTPFilters()...)
		}
		if w, ok := c.(envoy.LastFilterWriter); ok {
			b.last = append(b.last, w.LastFilters()...)
		}
	}
	for _, list := range [][]*hcmv3.HttpFilter{b.http, b.last} { // in an order that does not follow that of the kinds
		slices.SortFunc(list, func(a, b *hcmv3.HttpFilter) int { return strings.Compare(a.Name, b.Name) })
	}
	return b
}

// Reporting is b with what connection managers write to the agent of a sidecar that takes it.
func (b *Builder) Reporting() *Builder {
	return &Builder{http: b.http, last: b.last, guards: b.guards, reports: true}
}

// Reports reports whether b makes such listeners.
func (b *Builder) Reports() bool { return b.reports }
