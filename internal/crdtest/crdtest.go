// Package crdtest does with documents what an API server does that has a custom
// resource, by the API server's own code: it prunes, defaults and validates them,
// rules in CEL included.
package crdtest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apivalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/weftmesh/weft/api/crd"
)

// Resource is a custom resource as an API server has it.
type Resource struct {
	structural *structuralschema.Structural
	validator  apivalidation.SchemaValidator
	rules      *cel.Validator
}

// Answer is what becomes of a document.
type Answer struct {
	// Stored is the document with its defaults and without what was pruned.
	Stored map[string]any
	// Pruned are the paths of what was dropped, sorted.
	Pruned []string
	// Errors are what refuses it.
	Errors field.ErrorList
}

// Resources are those of definitions, by kind. A definition that an API server would
// refuse fails the test: one that is not structural, whose rules do not compile, or may
// cost more than an API server allows.
func Resources(t testing.TB, definitions []crd.Definition) map[string]*Resource {
	t.Helper()
	out := map[string]*Resource{}
	for _, d := range definitions {
		internal := convert(t, d)
		for _, e := range validation.ValidateCustomResourceDefinition(context.Background(), internal) {
			t.Errorf("%s: %v", d.Metadata.Name, e)
		}
		props := internal.Spec.Versions[0].Schema
		if props == nil {
			props = internal.Spec.Validation
		}
		structural, err := structuralschema.NewStructural(props.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		validator, _, err := apivalidation.NewSchemaValidator(props.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		out[d.Spec.Names.Kind] = &Resource{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	}
	return out
}

// convert reads a definition as an API server does.
func convert(t testing.TB, d crd.Definition) *apiextensions.CustomResourceDefinition {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &v1); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	v1.Status.StoredVersions = []string{v1.Spec.Versions[0].Name} // as at creation
	var out apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &out, nil); err != nil {
		t.Fatal(err)
	}
	return &out
}

// Ask is what becomes of a document, as JSON has it. The document is not changed.
func (r *Resource) Ask(document map[string]any) Answer {
	o := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	stored := Copy(document).(map[string]any)
	answer := Answer{Stored: stored, Pruned: pruning.PruneWithOptions(stored, r.structural, true, o)}
	slices.Sort(answer.Pruned)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored, r.structural)
	defaulting.Default(stored, r.structural)
	answer.Errors = append(apivalidation.ValidateCustomResource(nil, stored, r.validator), listtype.ValidateListSetsAndMaps(nil, r.structural, stored)...)
	if len(answer.Errors) == 0 { // rules are asked of sound documents only
		broken, _ := r.rules.Validate(context.Background(), nil, r.structural, stored, nil, celconfig.RuntimeCELCostBudget)
		answer.Errors = append(answer.Errors, broken...)
	}
	return answer
}

// Copy is a deep copy of a value of JSON.
func Copy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = Copy(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Copy(e)
		}
		return out
	}
	return v
}
