package conditions

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// The codes of notes on what is there and holds nothing (spec/contract.md 6).
const (
	selectsNothing = "SelectsNothing" // labels or tags of a top-level ref
	noEndpoints    = "NoEndpoints"    // a backend that nobody answers for
)

// selectsNone is the note on a top-level ref that selects no dataplane: one by a
// name leads nowhere, one by labels or tags may be early. Of refs that may select
// everything there is nothing to say.
func selectsNone(x Mesh, top api.TargetRef, s *matcher.Selector, origin *api.Origin) (api.Note, bool) {
	named, labelled := top.Name != "", len(top.Labels)+len(top.Tags)+len(top.ProxyTypes) > 0
	if top.Kind == api.KindMeshGateway || top.IsRoute() || !named && !labelled || x.Selects(s) {
		return api.Note{}, false
	}
	const at = api.Path("spec.targetRef")
	if named {
		if lost := lostName(x, top); lost != "" {
			return api.Notef(origin, api.Error, "TargetNotFound", at, "%s", lost), true
		}
	}
	return api.Notef(origin, api.Warning, selectsNothing, at, "%s selects no dataplane: %s", index.RefText(top), unselected(x, top)), true
}

// lostName says that no dataplane answers to the name of a top-level ref, with
// the nearest names; empty where one does.
func lostName(x Mesh, top api.TargetRef) string {
	names := x.planeNames(top.Kind == api.KindDataplane)
	if names.has[top.Name] {
		return ""
	}
	near := orNearest(names.Nearest(top.Name, mostNear))
	if top.Kind == api.KindDataplane {
		return "there is no " + index.RefText(top) + near
	}
	return fmt.Sprintf("no dataplane has %s=%s%s", api.TagService, top.Name, near)
}

// unselected says what of a top-level ref no dataplane satisfies.
func unselected(x Mesh, top api.TargetRef) string {
	var labels, tags []map[string]string
	for p := range x.Dataplanes.Values(x.At) {
		labels = append(labels, p.Facts.Labels.All())
		for _, t := range p.Facts.Tags {
			if top.Kind == api.KindMeshSubset || t[api.TagService] == top.Name {
				tags = append(tags, t)
			}
		}
	}
	for _, s := range []struct {
		want map[string]string
		have []map[string]string
	}{{top.Labels, labels}, {top.Tags, tags}} {
		if len(s.want) > 0 {
			return services.Mismatch(s.want, s.have)
		}
	}
	if len(top.ProxyTypes) > 0 {
		return "there is none of that type"
	}
	return "it is in another namespace or zone"
}
