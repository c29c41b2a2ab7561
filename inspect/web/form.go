package web

import (
	"reflect"

	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/endpoint"
)

// writes is the form of a PUT of one document.
func writes() endpoint.Form {
	f := endpoint.Says[accepted](endpoint.InNamespace, endpoint.InMesh)
	f.Created = true
	doc := reflect.TypeFor[endpoint.Document]()
	return f.OrReads(endpoint.OfJSON, doc).OrReads(endpoint.OfYAML, doc)
}

// removes is the form of a DELETE of one document.
func removes() endpoint.Form {
	return endpoint.Says[removed](endpoint.InNamespace, endpoint.InMesh, endpoint.DryRun, withFields).OrSays(endpoint.OfJSON, reflect.TypeFor[planned]())
}

// The parameters of queries.
var (
	explainSize = endpoint.Parameter{Name: "size", About: "How many outbounds to tell of at most; all where it is not given", Schema: endpoint.Schema{"type": "integer", "minimum": 1, "maximum": endpoint.LargestPage}}

	partOfID = endpoint.Parameter{Name: "name", About: "A part of the ids of the destinations of the outbounds to tell of", Schema: endpoint.Text(1024)}
	byKind   = endpoint.Parameter{Name: "kind", About: "Only policies and routes of these kinds, separated by commas", Schema: endpoint.Text(1024)}
	byFare   = endpoint.Parameter{Name: "state", About: "fine: only what is as it should be; problem: only what is not", Schema: endpoint.OneOf(string(inspect.FaresWell), string(inspect.FaresBadly))}

	restoreRevoked = endpoint.Parameter{Name: "restoreRevoked", About: "Also take revocations of identities back, which a rollback leaves as they are otherwise", Schema: endpoint.DryRun.Schema}
	withFields     = endpoint.Parameter{Name: "include", About: "With dryRun: diff, what changes in each of Envoy's resources, field by field", Schema: endpoint.OneOf("diff")}
	asReal         = endpoint.Parameter{Name: "shadow", About: "With dryRun: plan documents with kuma.io/effect: shadow as if they took part", Schema: endpoint.Schema{"type": "boolean", "default": false}}
	inFormat       = endpoint.Parameter{Name: "format", About: "universal: as readers see it; kubernetes: in the envelope of Kubernetes; written: as its writer gave it", Schema: endpoint.OneOf("universal", "kubernetes", "k8s", "written")}
	itemFormat     = endpoint.Parameter{Name: "format", About: "written: as the writer of each gave it", Schema: endpoint.OneOf("universal", "written")}
	asText         = endpoint.Parameter{Name: "format", About: "The form of the answer", Schema: endpoint.OneOf("text", "json")}

	fromCaller = endpoint.Parameter{Name: "from", About: "One dataplane that calls, by its name", Schema: endpoint.Text(1024)}
	toCalled   = endpoint.Parameter{Name: "to", About: "One service that is called, as kuma.io/service names it", Schema: endpoint.Text(1024)}
	withCounts = endpoint.Parameter{Name: "counts", About: "Whether Envoys are asked what shadows of permissions would have refused, at most 50 of them", Schema: endpoint.Schema{"type": "boolean", "default": false}}
	toService  = endpoint.Parameter{Name: "to", About: "One destination: its id, its name, or name:port", Schema: endpoint.Text(1024)}
	inBrief    = endpoint.Parameter{Name: "brief", About: "Without what policies say at outbounds", Schema: endpoint.Schema{"type": "boolean", "default": false}}
	fromFile   = endpoint.Parameter{Name: "file", About: "The file that the body comes from, for messages", Schema: endpoint.Text(maxFileName)}
	prune      = endpoint.Parameter{Name: "prune", About: "Labels K=V,K=V of what goes in the meshes of the documents unless it is among them", Schema: endpoint.Text(4096),
		Reads: func(text string) error { _, err := selectorOf(text); return err }}
)

// shows is the form of a GET of one document.
func shows(more ...endpoint.Parameter) endpoint.Form {
	return endpoint.Says[endpoint.Document](append([]endpoint.Parameter{inFormat}, more...)...).OrSays(endpoint.OfJSON, reflect.TypeFor[endpoint.KubernetesDocument]())
}

// listsDocuments is the form of a list of documents.
func listsDocuments(more ...endpoint.Parameter) endpoint.Form {
	return endpoint.Lists[endpoint.Document](append([]endpoint.Parameter{endpoint.ByLabels, itemFormat}, more...)...)
}

// applies is the form of a POST of many documents.
func applies() endpoint.Form {
	f := endpoint.Says[applied](endpoint.DryRun, fromFile, prune, asReal, withFields).OrSays(endpoint.OfJSON, reflect.TypeFor[planned]())
	return f.OrReads(endpoint.OfYAML, reflect.TypeFor[string]()).OrReads(endpoint.OfJSON, reflect.TypeFor[[]endpoint.Document]()).OrReads(endpoint.OfForm, reflect.TypeFor[map[string]string]())
}
