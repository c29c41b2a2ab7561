package webhook

import (
	"context"
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/api"
)

// fill writes the labels that weft computes, where nobody else has (spec/kubernetes.md 6.5).
// All else stays as it was sent, to the letter: who applies the same text again changes
// nothing. What cannot be read stays as it is: the hook that refuses says why.
func (s *server) fill(_ context.Context, q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	o, _ := s.read(q.Object.Raw)
	var sent map[string]any
	if o == nil || q.SubResource != "" || json.Unmarshal(q.Object.Raw, &sent) != nil {
		return allowed(nil)
	}
	before, _ := s.read(q.OldObject.Raw)
	return patched(s.labels(sent, before, o), nil)
}

// labels adds those that are missing. The role follows what is said now, so one that was
// computed before, and that the user leaves as it is, is computed again.
func (s *server) labels(sent map[string]any, before, o *api.Object) []operation {
	meta, _ := sent["metadata"].(map[string]any)
	have, there := meta["labels"].(map[string]any)
	missing, computed := map[string]any{}, s.computed(o)
	var out []operation
	for key, value := range computed {
		said, written := have[key]
		kept := before != nil && key == api.LabelPolicyRole && said == before.Labels[key]
		switch {
		case !written:
			missing[key] = value
		case kept && said != value:
			out = append(out, operation{Op: "replace", Path: below("/metadata/labels", key), Value: value})
		}
	}
	if _, role := computed[api.LabelPolicyRole]; !role && before != nil {
		if said, written := have[api.LabelPolicyRole]; written && said == before.Labels[api.LabelPolicyRole] {
			out = append(out, operation{Op: "remove", Path: below("/metadata/labels", api.LabelPolicyRole)})
		}
	}
	if len(missing) > 0 && !there {
		return append(out, operation{Op: "add", Path: "/metadata/labels", Value: missing})
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		out = append(out, operation{Op: "add", Path: below("/metadata/labels", key), Value: missing[key]})
	}
	return out
}

// following are the computed labels that nobody else may set.
var following = []string{api.LabelPolicyRole, api.LabelNamespace}

// computed are the labels of spec/kuma.md 1.2 that follow from the object and where it
// lives, whatever it says of them. No two objects share a namespace's name by label.
func (s *server) computed(o *api.Object) map[string]string {
	bare := *o
	bare.Labels = maps.Clone(o.Labels)
	for _, key := range following {
		delete(bare.Labels, key)
	}
	shown := s.Catalog.ShownLabels(&bare)
	out := map[string]string{}
	for _, key := range []string{api.LabelDisplayName, api.LabelOrigin, api.LabelZone, api.LabelEnv, api.LabelNamespace, api.LabelPolicyRole} {
		if v := shown[key]; v != "" {
			out[key] = v
		}
	}
	if out[api.LabelEnv] != "" && o.Labels[api.LabelEnv] == "" {
		out[api.LabelEnv] = "kubernetes"
	}
	if o.Mesh != "" {
		out[api.LabelMesh] = o.Mesh
	}
	return out
}
