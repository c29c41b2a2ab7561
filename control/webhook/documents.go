package webhook

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/store"
)

// operators are the kinds that only system namespaces have (spec/kubernetes.md 1).
var operators = []string{api.KindMeshExternalService, api.KindMeshMultiZoneService, api.KindHostnameGenerator, api.KindMeshIdentity, api.KindMeshTrust, api.KindMeshOpenTelemetryBackend}

// document says what is wrong with a document, and who may write it.
func (s *server) document(ctx context.Context, q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if q.SubResource != "" || q.UserInfo.Username == s.Ourselves && s.Ourselves != "" {
		return allowed(nil)
	}
	if q.Operation == admissionv1.Delete {
		return s.end(q)
	}
	o, found := s.read(q.Object.Raw)
	if o == nil {
		return refused(q, found)
	}
	before, _ := s.read(q.OldObject.Raw)
	if why := s.forbids(before, o, labelsIn(q.Object.Raw)); why != "" {
		return forbidden(q, why)
	}
	mesh, err := s.Cluster.HasMesh(ctx, o.Mesh)
	if o.Mesh != "" && err != nil {
		return s.unread(ctx, "mesh "+redact.Clip(o.Mesh), err)
	}
	if before == nil && o.Mesh != "" && !s.admits(o.Mesh, o.Namespace) {
		found = append(found, notAdmitted(o.Namespace, o.Mesh))
	}
	found = slices.DeleteFunc(found, func(v *api.Violation) bool { // it has the computed value, or would be forbidden
		return v.Code == "ReadOnly" && strings.Contains(string(v.Field), "labels")
	})
	found = s.admitted(before, o, mesh, append(found, moved(before, o)...))
	var wrong, warnings []*api.Violation
	for _, v := range found {
		if v.Severity == api.Error {
			wrong = append(wrong, v)
		} else if v.Severity == api.Warning {
			warnings = append(warnings, v)
		}
	}
	if len(wrong) > 0 {
		return refused(q, wrong)
	}
	return allowed(append(warnings, notes.Unreported(warnings, s.notes(o))...))
}

// read is the document as far as it can be read, nil where it cannot, and all that is
// wrong with it by itself, in the words of `weft validate`.
func (s *server) read(raw []byte) (*api.Object, []*api.Violation) {
	if len(raw) == 0 {
		return nil, nil
	}
	sound, broken, err := decode.AtMost(2*mostCauses, s.Catalog, decode.Text{Text: raw})
	found := api.Violations(err)
	if all := append(sound, broken...); len(all) == 1 {
		return all[0], found
	}
	return nil, found
}

// admitted is what is to be said of o by the chain that all writes go through: beside what was read,
// as the API server knows it.
func (s *server) admitted(before, o *api.Object, hasMesh bool, found []*api.Violation) []*api.Violation {
	asked := admission.WriteRequest{Found: found}
	if slices.ContainsFunc(found, func(v *api.Violation) bool { return v.Severity == api.Error }) {
		asked.Refused = []*api.Object{o}
	} else {
		asked.Writes = []store.Write{{Put: o}}
	}
	out, err := s.Admission.Admit(admission.APIServer, known(s.Cluster.Written(), before, o, hasMesh), asked)
	if r := admission.RefusalIn(err); r != nil {
		return r.Found
	}
	return out.Found
}

// known is what was read, with the mesh of o where the API server has it, and before where o is.
func known(now *snapshot.Snapshot, before, o *api.Object, hasMesh bool) *snapshot.Snapshot {
	var changes []snapshot.Change
	mesh := api.Ref{Kind: api.KindMesh, Name: o.Mesh}
	if hasMesh && !now.Has(mesh) {
		changes = append(changes, snapshot.Change{After: &api.Object{Ref: mesh, Spec: new(api.Mesh)}})
	}
	read, _ := now.Get(o.Ref)
	switch {
	case before == nil && read != nil:
		changes = append(changes, snapshot.Change{Before: read})
	case before != nil:
		there := *before
		if there.Ref = o.Ref; read == nil || !store.Same(read, &there) {
			changes = append(changes, snapshot.Change{Before: read, After: &there})
		}
	}
	if len(changes) == 0 {
		return now
	}
	return now.With(now.Revision(), changes)
}

// moved is what an update changes that stays for the life of an object, and that an API server alone
// lets be changed (spec/kubernetes.md 6.5).
func moved(before, o *api.Object) (found []*api.Violation) {
	if before == nil {
		return nil
	}
	if before.Mesh != o.Mesh {
		found = append(found, admission.Fixed(o, api.LabelMesh, before.Mesh))
	}
	if was := before.Labels[api.LabelManagedBy]; was != o.Labels[api.LabelManagedBy] {
		found = append(found, admission.Fixed(o, api.LabelManagedBy, was))
	}
	return found
}

// forbids is why the user may not write the object at all, whatever it says; empty where
// they may. Sent are the labels as they would be stored: what o says of them follows from where it is.
func (s *server) forbids(before, o *api.Object, sent map[string]string) string {
	system := s.Cluster.Injection().SystemNamespaces
	// What is of no namespace is for the cluster's administrators by itself.
	if slices.Contains(operators, o.Kind) && o.Namespace != "" && !slices.Contains(system, o.Namespace) {
		return fmt.Sprintf("a %s is for the whole mesh, so it lives in a system namespace; create it in %s", o.Kind, strings.Join(system, " or "))
	}
	if o.Kind == api.KindMeshService && generated(before, o) {
		return fmt.Sprintf("weft makes the MeshService %s of the Service of that name, and writes it alone; change the Service", o.Name)
	}
	if o.Kind == api.KindDataplane && generated(before, o) {
		return fmt.Sprintf("kuma.io/managed-by: %s marks what weft makes of the pod %s, and writes alone; change the pod, or remove the label", api.ManagedByController, o.Name)
	}
	if o.Kind == api.KindMeshTrust && (api.MadeByWeft(before) && !reflect.DeepEqual(before.Spec, o.Spec) || before == nil && api.MadeByWeft(o)) {
		return fmt.Sprintf("weft makes the MeshTrust %s of an authority of its mesh, and writes it alone; add a MeshTrust of your own beside it", o.Name)
	}
	follows := s.computed(o)
	for _, key := range following {
		if said, there := sent[key]; there && said != follows[key] {
			return fmt.Sprintf("the label %s follows from what the object is and where, and nobody else sets it (%q, not %q); remove it", key, follows[key], redact.Clip(said))
		}
	}
	return ""
}

// labelsIn are the labels that a document says.
func labelsIn(raw []byte) map[string]string {
	var said struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(raw, &said) // which the decoder has read already
	return said.Metadata.Labels
}

// generated reports whether the write makes, or changes, what weft makes of a Service or pod.
// Finalizers and the like are for everybody.
func generated(before, o *api.Object) bool {
	if before == nil {
		return o.Labels[api.LabelManagedBy] == api.ManagedByController
	}
	return before.Labels[api.LabelManagedBy] == api.ManagedByController &&
		!(reflect.DeepEqual(before.Spec, o.Spec) && reflect.DeepEqual(before.Labels, o.Labels))
}

// end keeps a Mesh while it has dataplanes.
func (s *server) end(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	m := s.Cluster.Model()
	if q.Kind.Kind != api.KindMesh || m == nil {
		return allowed(nil)
	}
	for dp := range m.Dataplanes(q.Name) {
		return refused(q, []*api.Violation{api.Path("").Breaks("mesh %s still has dataplanes, such as %s; delete them and their pods first", q.Name, dp.Ref.FullName())})
	}
	return allowed(nil)
}

// notes is what the cluster says of the object: references that lead nowhere, fields
// without effect. Its cost follows what the object is about. A bug refuses nothing here.
func (s *server) notes(o *api.Object) (out []*api.Violation) {
	m := s.Cluster.Model()
	if m == nil {
		return nil
	}
	defer func() {
		if bug := recover(); bug != nil {
			s.Log.Error("warnings could not be found", "object", o.Ref.String(), "panic", fmt.Sprintf("%T", bug), "stack", string(debug.Stack()))
			out = append(out, api.Path("").Warns("Failed", "a bug in weft keeps its warnings from being found; report the log of the control plane"))
		}
	}()
	now := m.Snapshot()
	change := snapshot.Change{After: o}
	change.Before, _ = now.Get(o.Ref)
	next, _ := m.Update(now.With(now.Revision()+1, []snapshot.Change{change}), []snapshot.Change{change})
	for _, n := range notes.On(next.Reader(nil), o.Ref) {
		if n.Severity != api.Info {
			out = append(out, &api.Violation{Object: o.Ref, Field: n.Field, Code: n.Code, Message: strings.TrimSpace(n.Message), Severity: api.Warning})
		}
	}
	return out
}
