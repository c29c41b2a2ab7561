package decode

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// keys refuses private keys below a node where everybody reads them who may read the document: a
// value pasted in the place of its name, a key in the place of a certificate. What an alias repeats
// is looked at where it stands.
func (d *decoder) keys(n *yaml.Node, at api.Path) {
	if n == nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			d.keys(n.Content[i+1], at.Field(n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			d.keys(item, at.Index(i))
		}
	case yaml.ScalarNode:
		if !redact.IsPrivateKey(n.Value) || api.MayHoldKeys(d.ref.Kind, at) {
			return
		}
		if !slices.ContainsFunc(d.errs, func(v *api.Violation) bool { return v.Severity == api.Error && v.Field == at }) {
			d.report(n, at.Breaks("a private key stands here, where all may read it who may read the document; put it into a Secret, and write the name of that where a name is wanted"))
		}
	}
}
