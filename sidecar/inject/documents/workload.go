package documents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/sidecar/inject"
)

// kind is one that holds a pod.
type kind struct {
	version string
	name    string
	at      api.Path // of the pod's metadata and spec
	new     func() (document any, pod func() *corev1.PodTemplateSpec)
}

// template makes a kind of a type that has a template at at.
func template[D any](version, name string, at api.Path, of func(*D) *corev1.PodTemplateSpec) kind {
	return kind{version, name, at, func() (any, func() *corev1.PodTemplateSpec) {
		d := new(D)
		return d, func() *corev1.PodTemplateSpec { return of(d) }
	}}
}

var kinds = []kind{
	template("apps/v1", "DaemonSet", "spec.template", func(d *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &d.Spec.Template }),
	template("apps/v1", "Deployment", "spec.template", func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template }),
	template("apps/v1", "ReplicaSet", "spec.template", func(d *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &d.Spec.Template }),
	template("apps/v1", "StatefulSet", "spec.template", func(d *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &d.Spec.Template }),
	template("batch/v1", "CronJob", "spec.jobTemplate.spec.template", func(d *batchv1.CronJob) *corev1.PodTemplateSpec { return &d.Spec.JobTemplate.Spec.Template }),
	template("batch/v1", "Job", "spec.template", func(d *batchv1.Job) *corev1.PodTemplateSpec { return &d.Spec.Template }),
	{"v1", "Pod", "", nil},
}

// inject injects into all pods of a document and prints it.
func (p *part) inject(s Settings, w surroundings, r *Result) []Workload {
	var out []Workload
	if len(p.objects) == 0 { // it cannot be read, or is an empty List
		return nil
	}
	before, after := make([]json.RawMessage, len(p.objects)), make([]json.RawMessage, len(p.objects))
	for i := range p.objects {
		before[i], after[i] = json.RawMessage("{}"), json.RawMessage("{}")
		o := &p.objects[i]
		k, ok := kindOf(o)
		if !ok {
			r.Violations = append(r.Violations, o.otherVersion()...)
			continue
		}
		done := o.inject(k, s, w)
		out = append(out, done.Workload)
		if done.before != nil {
			before[i], after[i] = done.before, done.after
		}
	}
	was, is := lists(before), lists(after)
	if len(p.objects) == 1 && p.objects[0].source.Item == "" {
		was, is = before[0], after[0]
	}
	text, err := syntax.Edit(p.Source, was, is)
	if err != nil {
		r.Violations = append(r.Violations, &api.Violation{Position: api.Position{File: p.File, Line: p.Line, Column: 1}, Code: "Syntax", Severity: api.Error, Message: err.Error()})
		return out
	}
	p.printed = text
	return out
}

func lists(items []json.RawMessage) []byte {
	out, err := json.Marshal(map[string][]json.RawMessage{"items": items})
	if err != nil {
		panic(err) // each is JSON already
	}
	return out
}

func kindOf(o *object) (kind, bool) {
	for _, k := range kinds {
		if k.name == o.Kind && k.version == o.APIVersion {
			return k, true
		}
	}
	return kind{}, false
}

// otherVersion warns of kinds that hold pods in a version that is not understood: a pod
// that stays bare in silence is the worst outcome.
func (o *object) otherVersion() []*api.Violation {
	for _, k := range kinds {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		if k.name == o.Kind && (strings.HasPrefix(k.version, group+"/") || group == "extensions" || o.APIVersion == "") {
			v := api.Path("apiVersion").Warns("UnknownVersion", "%q of %s is not understood, so its pods get no sidecar here; write %s", redact.Clip(o.APIVersion), k.name, k.version)
			v.Position, v.Object = syntax.Locate(o.source, v.Field), o.ref()
			return []*api.Violation{v}
		}
	}
	return nil
}

func (o *object) ref() api.Ref {
	name := o.Metadata.Name
	if name == "" {
		name = o.Metadata.GenerateName
	}
	return api.Ref{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: name}
}

// injected is what became of one document, as it was read and as it is to be.
type injected struct {
	Workload
	before, after []byte
}

func (o *object) inject(k kind, s Settings, w surroundings) injected {
	out := injected{Workload: Workload{Ref: o.ref()}}
	locate := syntax.Locator(o.source)
	add := func(prefix api.Path, found ...*api.Violation) {
		for _, v := range found {
			if v.Object.Kind != "" { // it stands on the namespace
				v.Position = w.locate(v.Object.Name, v.Field, o)
			} else {
				v.Object = o.ref()
				if prefix != "" && v.Field != "" {
					v.Field = prefix + "." + v.Field
				}
				v.Position = locate(v.Field)
			}
			out.Violations = append(out.Violations, v)
		}
	}
	document, pod, put := o.decode(k)
	found, err := decodeStrictly(o.json, document)
	add("", found...)
	if err != nil {
		add("", err)
		out.Decision = inject.Decision{Verdict: inject.Refuse, Code: "Invalid"}
		return out
	}
	out.before = marshal(document)
	ns := w.namespace(o.Metadata.Namespace)
	given := pod()
	out.Decision, out.Hook = inject.Decide(given, ns, s.Config), inject.Hook(given, ns, s.Config)
	got, warnings, refused := inject.Inject(given, ns, s.Config)
	add(k.at, warnings...)
	if found := api.Violations(refused); len(found) > 0 {
		out.Decision.Verdict, out.Decision.Code = inject.Refuse, found[0].Code
		add(k.at, found...)
	}
	put(got)
	out.after = marshal(document)
	return out
}

// decode makes the document of a kind, empty, with how to take the pod out of it when it
// is read, and how to put one in.
func (o *object) decode(k kind) (document any, pod func() *corev1.Pod, put func(*corev1.Pod)) {
	if k.new == nil {
		p := new(corev1.Pod)
		return p, func() *corev1.Pod { return p.DeepCopy() }, func(changed *corev1.Pod) { *p = *changed }
	}
	document, template := k.new()
	pod = func() *corev1.Pod {
		t := template().DeepCopy()
		p := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
		if strings.HasSuffix(o.Kind, "Job") {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Kind: "Job"})
		}
		return p
	}
	put = func(p *corev1.Pod) {
		meta := p.ObjectMeta
		meta.OwnerReferences = slices.DeleteFunc(slices.Clone(meta.OwnerReferences), func(r metav1.OwnerReference) bool { return r == metav1.OwnerReference{Kind: "Job"} })
		*template() = corev1.PodTemplateSpec{ObjectMeta: meta, Spec: p.Spec}
	}
	return document, pod, put
}

// decodeStrictly reads a document. What is unknown in it stays and is a warning; the
// error is of what is not of its type.
func decodeStrictly(text []byte, into any) (warnings []*api.Violation, wrong *api.Violation) {
	strict, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		return nil, mistyped(err)
	}
	for _, e := range strict {
		what, field, ok := strings.Cut(e.Error(), ` "`)
		if !ok {
			what, field = e.Error(), ""
		}
		warnings = append(warnings, api.Path(strings.TrimSuffix(field, `"`)).Warns("UnknownField", "%s; it stays as it is", what))
	}
	return warnings, nil
}

func marshal(document any) []byte {
	out, err := json.Marshal(document)
	if err != nil {
		panic(fmt.Errorf("print what was read: %w", err))
	}
	return out
}
