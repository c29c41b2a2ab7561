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
	guards []guard             // of inbounds where callers prove who they are
	// reports says that what becomes of requests is written to the agent.
	reports bool
}

// NewBuilder makes listeners for one set of kinds.
func NewBuilder(kinds []*policies.Kind) *Builder {
	return &Builder{http: wantedFilters(kinds), guards: guardsOf(kinds)}
}

// Reporting is b with what connection managers write to the agent of a sidecar that takes it.
func (b *Builder) Reporting() *Builder {
	return &Builder{http: b.http, guards: b.guards, reports: true}
}

// Reports reports whether b makes such listeners.
func (b *Builder) Reports() bool { return b.reports }

// wantedFilters are the HTTP filters that kinds ask for, in an order that does
// not follow that of the kinds.
func wantedFilters(kinds []*policies.Kind) []*hcmv3.HttpFilter {
	var out []*hcmv3.HttpFilter
	for _, k := range kinds {
		if w, ok := k.New().(envoy.HTTPFilterWriter); ok {
			out = append(out, w.HTTPFilters()...)
		}
	}
	slices.SortFunc(out, func(a, b *hcmv3.HttpFilter) int { return strings.Compare(a.Name, b.Name) })
	return out
}
