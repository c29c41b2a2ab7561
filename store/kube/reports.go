package kube

import (
	"cmp"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weftmesh/weft/api"
)

// ConditionsAnnotation has the conditions of an object whose status has no place for them
// (spec/kubernetes.md 1.11).
const ConditionsAnnotation = "weft.io/conditions"

// Report is what the API server holds of how an object fares. It is not part of the object
// as it is served, so that a new one changes nothing.
type Report struct {
	// Version and Generation are those of the object with this status.
	Version    string
	Generation int64
	// Status is JSON; nil where there is none.
	Status json.RawMessage
	// Conditions is what stands in ConditionsAnnotation.
	Conditions string
	// Refused says that this version is not sound: the last sound one is in force, if there was
	// one, and Problems has what is wrong.
	Refused bool
	// Made is set of what weft has made of another object.
	Made *Made
}

// Made is what an object says that weft has made of another: a MeshService of a Service, or of
// a pod of one, and the Dataplane of a pod. It is no document: the Service and the pod stand for
// themselves (spec/kubernetes.md 2, 3.2).
type Made struct {
	Mesh   string
	Owner  string // the UID of the Service or Pod
	Labels map[string]string
	Spec   json.RawMessage
}

// ownersOfMade are the kinds of which weft makes objects of a kind.
var ownersOfMade = map[string][]string{
	api.KindMeshService: {api.KindService, api.KindPod},
	api.KindDataplane:   {api.KindPod},
}

// made is what an object of a kind says that weft has made of another; nil of any other.
func made(kind string, u *unstructured.Unstructured) *Made {
	owners := ownersOfMade[kind]
	if len(owners) == 0 {
		return nil
	}
	labels := u.GetLabels()
	if labels[api.LabelManagedBy] != api.ManagedByController {
		return nil
	}
	for _, o := range u.GetOwnerReferences() {
		if slices.Contains(owners, o.Kind) && o.Controller != nil && *o.Controller {
			spec, _ := json.Marshal(u.Object["spec"]) // it was JSON
			return &Made{Mesh: cmp.Or(labels[api.LabelMesh], api.DefaultMesh), Owner: string(o.UID), Labels: labels, Spec: spec}
		}
	}
	return nil
}

// Made are the objects of a kind that weft has made of others, as the API server told of them
// last; none without Config.Reports.
func (s *Store) Made(kind string) map[api.Ref]Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[api.Ref]Report{}
	for k, r := range s.reports {
		if r.Made != nil && k.kind == kind {
			out[api.Ref{Kind: k.kind, Mesh: r.Made.Mesh, Namespace: k.namespace, Name: k.name}] = r
		}
	}
	return out
}

// Refusals counts how often Problems became other.
func (s *Store) Refusals() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusals
}

// reportKey tells objects of one kind apart, in whatever mesh.
type reportKey struct{ kind, namespace, name string }

// Report is how an object fared when the API server told of it last; false for what it does
// not hold, for kinds that have no such status, and without Config.Reports.
func (s *Store) Report(ref api.Ref) (Report, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.reports[reportKey{ref.Kind, ref.Namespace, ref.Name}]
	return r, ok
}

// reporting is read for a type whose status is kept, or of which weft makes objects: take keeps it, under the store's lock,
// when the object is taken.
func (s *Store) reporting(typ api.Type) func(obj any) *Report {
	if !s.cfg.Reports || !typ.HasStatus() && ownersOfMade[typ.Name] == nil {
		return nil
	}
	return func(obj any) *Report {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return nil
		}
		r := &Report{Version: u.GetResourceVersion(), Generation: u.GetGeneration(), Conditions: u.GetAnnotations()[ConditionsAnnotation], Made: made(typ.Name, u)}
		if status, ok := u.Object["status"]; ok {
			r.Status, _ = json.Marshal(status) // it was JSON
		}
		return r
	}
}

// keep keeps the newest report of an object, nil for none any more. It is called with mu
// held.
func (f *feed) keep(key string, r *Report) {
	if f.report == nil || f.ended {
		return
	}
	k := reportKey{kind: f.kind}
	k.namespace, k.name = splitKey(key)
	if r == nil {
		delete(f.of.reports, k)
		return
	}
	f.of.reports[k] = *r
}
