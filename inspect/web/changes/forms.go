package changes

import (
	"reflect"

	"github.com/weftmesh/weft/inspect/web/endpoint"
)

// PutForm is the form of a PUT of one document.
func PutForm() endpoint.Form {
	f := endpoint.Says[accepted](endpoint.InNamespace, endpoint.InMesh)
	f.Created = true
	doc := reflect.TypeFor[endpoint.Document]()
	return f.OrReads(endpoint.OfJSON, doc).OrReads(endpoint.OfYAML, doc)
}

// DeleteForm is the form of a DELETE of one document.
func DeleteForm() endpoint.Form {
	return endpoint.Says[removed](endpoint.InNamespace, endpoint.InMesh, endpoint.DryRun, withFields).OrSays(endpoint.OfJSON, reflect.TypeFor[Planned]())
}

var restoreRevoked = endpoint.Parameter{Name: "restoreRevoked", About: "Also take revocations of identities back, which a rollback leaves as they are otherwise", Schema: endpoint.DryRun.Schema}

var withFields = endpoint.Parameter{Name: "include", About: "With dryRun: diff, what changes in each of Envoy's resources, field by field", Schema: endpoint.OneOf("diff")}

var asReal = endpoint.Parameter{Name: "shadow", About: "With dryRun: plan documents with kuma.io/effect: shadow as if they took part", Schema: endpoint.Schema{"type": "boolean", "default": false}}

var fromFile = endpoint.Parameter{Name: "file", About: "The file that the body comes from, for messages", Schema: endpoint.Text(maxFileName)}

var prune = endpoint.Parameter{Name: "prune", About: "Labels K=V,K=V of what goes in the meshes of the documents unless it is among them", Schema: endpoint.Text(4096),
	Reads: func(text string) error { _, err := selectorOf(text); return err }}

// applies is the form of a POST of many documents.
func applies() endpoint.Form {
	f := endpoint.Says[applied](endpoint.DryRun, fromFile, prune, asReal, withFields).OrSays(endpoint.OfJSON, reflect.TypeFor[Planned]())
	return f.OrReads(endpoint.OfYAML, reflect.TypeFor[string]()).OrReads(endpoint.OfJSON, reflect.TypeFor[[]endpoint.Document]()).OrReads(endpoint.OfForm, reflect.TypeFor[map[string]string]())
}
