package documents

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/sidecar/inject"
)

var podKind = kind{"v1", api.KindPod, "", nil}

var catalog = api.NewCatalog(api.Types()...)

// Pod is the object of a Pod document after injection, by its text: worlds without a
// cluster have no webhook that would have been asked (spec/kubernetes.md 2.13). A pod that
// a cluster runs, one that has a sidecar and one that is to have none are o itself, and so
// is one that is refused. Namespace is its document; nil counts as labelled enabled.
func Pod(o, namespace *api.Object, c inject.Config) (*api.Object, []*api.Violation) {
	spec, ok := o.Spec.(*api.Pod)
	if !ok || o.UID() != "" || spec.Container(api.SidecarContainer) != nil || len(o.Source.Text) == 0 {
		return o, nil
	}
	doc, found := document(o)
	if doc == nil {
		return o, found
	}
	w := surroundings{}
	if namespace != nil {
		ns := &object{source: namespace.Source}
		if ns.Metadata.Labels = namespace.Labels; namespace.Meta != nil {
			ns.Metadata.Annotations = namespace.Meta.Annotations
		}
		w[namespace.Name] = ns
	}
	done := doc.inject(podKind, Settings{Config: c, Namespace: o.Namespace}, w)
	found = done.Violations
	for _, v := range found {
		if v.Object.Kind == api.KindPod {
			v.Object = o.Ref
		}
	}
	if done.Decision.Verdict != inject.Injects {
		return o, found
	}
	var pod corev1.Pod
	if err := json.Unmarshal(done.after, &pod); err != nil {
		return o, found
	}
	pod.TypeMeta.APIVersion, pod.TypeMeta.Kind = podKind.version, podKind.name
	made, err := decode.One(catalog, o.Source.File, marshal(pod), o.Ref)
	if made == nil || api.Refuses(err) {
		return o, append(found, api.Violations(err)...)
	}
	out := *o
	out.Spec, out.Meta, out.Labels, out.Adjusted = made.Spec, made.Meta, made.Labels, true
	return &out, found
}

// document is the text of an object as one document, nil where it cannot be read.
func document(o *api.Object) (*object, []*api.Violation) {
	p, wrong := read(o.Source, o.Namespace)
	if wrong != nil {
		wrong.Object = o.Ref
		return nil, []*api.Violation{wrong}
	}
	for i := range p.objects {
		if d := &p.objects[i]; d.Kind == api.KindPod && d.Metadata.Name == o.Name && d.Metadata.Namespace == o.Namespace {
			return d, nil
		}
	}
	return nil, nil
}
