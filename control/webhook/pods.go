package webhook

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/sidecar/inject"
)

// pod gives a new pod its sidecar where inject.Decide says so.
func (s *server) pod(ctx context.Context, q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if q.Operation != admissionv1.Create || q.Kind.Group != "" || q.Kind.Kind != "Pod" || q.SubResource != "" {
		return allowed(nil)
	}
	pod := new(corev1.Pod)
	if err := json.Unmarshal(q.Object.Raw, pod); err != nil { // the cause may quote the pod
		return unreadable(q)
	}
	ns, err := s.Cluster.Namespace(ctx, q.Namespace)
	if err != nil {
		return s.unread(ctx, "namespace "+redact.Clip(q.Namespace), err)
	}
	c := s.Cluster.Injection()
	if c, err = s.withMesh(ctx, pod, ns, c); err != nil {
		return s.unread(ctx, "the mesh of the pod", err)
	}
	asked := pod.DeepCopy()
	if asked.Namespace == "" {
		asked.Namespace = q.Namespace
	}
	injected, warnings, err := inject.Inject(asked, ns, c)
	s.count(q, inject.Decide(asked, ns, c), err)
	if err != nil {
		found := api.Violations(err)
		if len(found) == 0 {
			return failed(err.Error())
		}
		return refused(q, found)
	}
	if mesh := inject.MeshOf(asked, ns); inject.Decide(asked, ns, c).Verdict == inject.Injects && !s.admits(mesh, q.Namespace) {
		return refused(q, []*api.Violation{notAdmitted(q.Namespace, mesh)})
	}
	operations, err := patchOf(asked, injected) // and not of what was sent, of which weft may not know all
	if err != nil {
		return failed("the pod cannot be written: " + err.Error())
	}
	return patched(operations, warnings)
}

// validate answers about what becomes part of the mesh: a document of kuma.io, or a pod that runs.
func (s *server) validate(ctx context.Context, q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if q.Kind.Group == "" && q.Kind.Kind == api.KindPod {
		return s.runningPod(ctx, q)
	}
	return s.document(ctx, q)
}

// runningPod refuses changes of what a pod with a sidecar is, and wrong values of what is read while it runs.
func (s *server) runningPod(_ context.Context, q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if q.Operation != admissionv1.Update || q.SubResource != "" {
		return allowed(nil)
	}
	before, after := new(corev1.Pod), new(corev1.Pod)
	if json.Unmarshal(q.OldObject.Raw, before) != nil || json.Unmarshal(q.Object.Raw, after) != nil {
		return unreadable(q)
	}
	if found := inject.Update(before, after); len(found) > 0 {
		return refused(q, found)
	}
	return allowed(nil)
}

func unreadable(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return refused(q, []*api.Violation{api.Path("").Breaks("this weft cannot read the pod; is it older than the cluster by far?")})
}

// admits reports whether what lives in a namespace takes part in a mesh, as far as it is known.
func (s *server) admits(mesh, namespace string) bool {
	m := s.Cluster.Model()
	if m == nil {
		return true // the resolver decides in any case
	}
	return m.Tenancy(mesh).Admits(api.Home{Namespace: namespace, System: namespace == "" || slices.Contains(s.Cluster.Injection().SystemNamespaces, namespace)})
}

func notAdmitted(namespace, mesh string) *api.Violation {
	v := api.Path("metadata.namespace").Breaks("namespace %s is not part of mesh %s; add it to tenancy.namespaces of Mesh %s, or name another mesh by the label %s", namespace, redact.Clip(mesh), redact.Clip(mesh), api.LabelMesh)
	v.Code = index.CodeNotAdmitted
	return v
}

// count tells what became of a pod.
func (s *server) count(q *admissionv1.AdmissionRequest, d inject.Decision, err error) {
	if s.Injected == nil || q.DryRun != nil && *q.DryRun {
		return
	}
	verdict, code := d.Verdict, d.Code
	if found := api.Violations(err); verdict != inject.Refuse && len(found) > 0 {
		verdict, code = inject.Refuse, found[0].Code
	}
	s.Injected(string(verdict), code)
}

// withMesh is c where the mesh of the pod is among the meshes if the API server has it, though
// nobody here has seen it yet.
func (s *server) withMesh(ctx context.Context, pod *corev1.Pod, ns inject.Namespace, c inject.Config) (inject.Config, error) {
	mesh := inject.MeshOf(pod, ns)
	if c.Meshes == nil || slices.Contains(c.Meshes, mesh) || api.ValidateMeshName("", mesh) != nil {
		return c, nil
	}
	there, err := s.Cluster.HasMesh(ctx, mesh)
	if there {
		c.Meshes = append([]string{mesh}, c.Meshes...)
	}
	return c, err
}
