package index

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// LabelText is labels as KEY=VALUE, sorted and separated by commas.
func LabelText(labels map[string]string) string {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, k+"="+labels[k])
	}
	return strings.Join(pairs, ",")
}

// RefText names what a ref asks for.
func RefText(ref api.TargetRef) string {
	text := ref.Kind
	switch {
	case ref.Name == "" && len(ref.Labels) > 0:
		text += " with labels " + LabelText(ref.Labels)
	case ref.Name != "" && ref.Namespace != "":
		text += " " + ref.Namespace + "/" + ref.Name
	case ref.Name != "":
		text += " " + ref.Name
	}
	if len(ref.Tags) > 0 && (ref.Kind == api.KindMeshSubset || ref.Kind == api.KindMeshServiceSubset) {
		text += " with tags " + LabelText(ref.Tags)
	}
	if len(ref.ProxyTypes) > 0 {
		text += " for proxies of type " + strings.Join(ref.ProxyTypes, ", ")
	}
	if ref.SectionName != "" && !ref.IsRoute() {
		text += " with a section " + ref.SectionName
	}
	return text
}

// CollectorText is a ref to a collector in words.
func CollectorText(ref *policies.CollectorRef) string {
	if ref.Name != "" {
		return ref.Kind + " " + ref.Name
	}
	return ref.Kind + " with labels " + LabelText(ref.Labels)
}
