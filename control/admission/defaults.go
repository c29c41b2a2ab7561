package admission

import (
	"fmt"
	"log/slog"
	"reflect"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/store"
)

// defaultPolicy is a document without its head.
type defaultPolicy struct {
	kind, name, spec string
	earlier          []string // what earlier releases wrote for spec
}

func (p defaultPolicy) document(ref api.Ref) []byte {
	return fmt.Appendf(nil, "type: %s\nmesh: %s\nname: %s\nlabels: {%s: \"true\"}\n%s", ref.Kind, ref.Mesh, ref.Name, api.LabelDefault, p.spec)
}

// defaultPolicies are those that kinds bring along, by the names of the kinds' folders.
var defaultPolicies = func() (out []defaultPolicy) {
	for _, k := range all.Kinds {
		if k.Initial != nil {
			out = append(out, defaultPolicy{k.Name, k.Initial.Name, k.Initial.Spec, k.Initial.Earlier})
		}
	}
	return out
}()

// object is the document for a mesh.
func (p defaultPolicy) object(ref api.Ref) *api.Object {
	o, err := decode.One(catalog, "", p.document(ref), ref)
	if o == nil {
		panic(fmt.Sprintf("built-in document: %v", err))
	}
	return o
}

// renewed is a default policy as this release writes it, where o is exactly what an earlier one wrote.
// Edited says that people have changed one of which that is to be known: it stays as it is.
func renewed(o *api.Object) (newer *api.Object, edited bool) {
	if !o.IsDefault() {
		return nil, false
	}
	for _, p := range defaultPolicies {
		if o.Kind != p.kind || o.Name != p.name+o.Mesh || len(p.earlier) == 0 {
			continue
		}
		ref := api.Ref{Kind: o.Kind, Mesh: o.Mesh, Name: o.Name}
		now := p.object(ref)
		for _, spec := range p.earlier {
			p.spec = spec
			if reflect.DeepEqual(o.Spec, p.object(ref).Spec) {
				now.Namespace, now.InSystemNamespace = o.Namespace, o.InSystemNamespace
				return now, false
			}
		}
		return nil, !reflect.DeepEqual(o.Spec, now.Spec)
	}
	return nil, false
}

// Renewals rewrite the default policies that are exactly what an earlier release wrote, and say in
// the log which ones people have changed: those stay.
func Renewals(now *snapshot.Snapshot, log *slog.Logger) (writes []store.Write) {
	for mesh := range now.OfKind(api.KindMesh) {
		for _, p := range DefaultPolicies(mesh.Name, nil) {
			for o := range now.Of(p.Kind, mesh.Name) {
				if o.Name != p.Name {
					continue
				}
				newer, edited := renewed(o)
				if newer != nil {
					writes = append(writes, store.Write{Put: newer, Own: true})
				}
				if edited {
					log.Warn("a default policy was edited, so it stays as it is; this release writes it without perTryTimeout, which its retryOn does not repeat: see docs/lint.md#shadowedtimeout", "policy", o.Ref.String())
				}
			}
		}
	}
	return writes
}
