package xds

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/naming"
)

// Concerns reports whether an object takes part in one of the resources, of any type, that have the names on the
// dataplane of r. It does, for all that is known, where one of the names is that of no outbound, inbound and
// cluster, as the resources of edges are.
func Concerns(r *effective.Resolved, object api.Ref, names []string) bool {
	known := make([]bool, len(names))
	says := func(resources []string, attachments []effective.Attachment) bool {
		found := false
		for i, name := range names {
			if slices.Contains(resources, name) {
				known[i], found = true, true
			}
		}
		return found && slices.ContainsFunc(attachments, func(a effective.Attachment) bool { return a.Entry.Ref == object })
	}
	for _, o := range r.Outbounds {
		if says([]string{naming.OutboundListener(o), naming.OutboundRoutes(o)}, o.Attachments()) {
			return true
		}
	}
	for i := range r.Clusters {
		if c := &r.Clusters[i]; says([]string{c.Cluster.Name}, c.Attachments()) {
			return true
		}
	}
	for _, in := range r.Inbounds {
		name := naming.Inbound(in.Inbound)
		if says([]string{name, name + naming.GuardedRoutes}, in.Attachments()) {
			return true
		}
	}
	return slices.Contains(known, false) || len(names) == 0
}
