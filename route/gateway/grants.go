package gateway

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// permitted reports whether a ReferenceGrant in the namespace of what a ref leads to lets
// objects such as the one that is read refer to it.
func (x *reader) permitted(group string, to api.TargetRef) bool {
	home := x.object.HomeNamespace()
	if to.Namespace == home {
		return true
	}
	return slices.ContainsFunc(x.see.Objects(KindReferenceGrant, map[string]string{api.LabelNamespace: to.Namespace}), func(o *api.Object) bool {
		return o.Spec.(*ReferenceGrant).permits(x.object.Kind, home, group, to)
	})
}

// permits reports whether routes of a kind in a namespace may refer to something.
func (g *ReferenceGrant) permits(kind, namespace, ofGroup string, to api.TargetRef) bool {
	for _, from := range g.From {
		if from.Group != group || string(from.Kind) != kind || string(from.Namespace) != namespace {
			continue
		}
		for _, t := range g.To {
			if string(t.Group) == ofGroup && string(t.Kind) == to.Kind && (t.Name == nil || *t.Name == "" || string(*t.Name) == to.Name) {
				return true
			}
		}
	}
	return false
}

// strictly reads rules as they stand at a Gateway: refs to other namespaces need a
// ReferenceGrant (spec/gateway-api.md 1.5). What else there is to say of them is said
// already.
func (x *reader) strictly(rules []rule) []route.Rule {
	strict := reader{object: x.object, see: x.see, broken: x.broken, speaks: x.speaks, connections: x.connections, strict: true}
	return strict.rules(rules)
}
