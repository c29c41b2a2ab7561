package policies

import "github.com/weftmesh/weft/api"

// Type is the kind as a type of document.
func (k *Kind) Type() api.Type {
	return api.Type{
		Name: k.Name, Plural: k.Plural, Short: k.Short, Policy: true,
		New: func() api.Spec { return &Spec{Kind: k} }, Custom: api.ReportedDefinition(),
	}
}
