package inject

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/weftmesh/weft/api"
)

// running are the annotations that are read of a pod while it runs, and whether they are fixed when
// it is created: those say what the pod is to others, an edge or a gateway, and what weft-init
// redirects follows from them.
var running = []struct {
	name  string
	fixed bool
}{
	{annotationGateway, true},
	{"weft.io/edge-listeners", true},
	{"kuma.io/reachable-backends", false},
	{"kuma.io/direct-access-services", false},
	{"kuma.io/transparent-proxying-reachable-services", false},
}

// Running are the annotations that are read of a pod while it runs. Of all others only those count
// with which it was created.
func Running() []string {
	var out []string
	for _, a := range running {
		out = append(out, a.name)
	}
	return out
}

// Update is what is wrong with a change of a running pod's annotations; nothing where it has no
// sidecar, and nothing of those that stay as they were.
func Update(before, after *corev1.Pod) []*api.Violation {
	if !slices.ContainsFunc(containers(after), func(c located) bool { return c.Name == SidecarContainer }) {
		return nil
	}
	var found []*api.Violation
	for _, a := range running {
		was, is := before.Annotations[a.name], after.Annotations[a.name]
		if was == is {
			continue
		}
		var v *api.Violation
		if a.fixed {
			v = annotationPath(a.name).Breaks("it says what the pod is, which is settled when the pod is created; change the template of its Deployment, or create the pod anew")
			v.Code = "FixedAnnotation"
		} else if err := table[a.name].set(new(settings), strings.TrimSpace(is)); err != nil && is != "" {
			v = annotationPath(a.name).Breaks("%s", err.Error())
			v.Code = "InvalidAnnotation"
		}
		if v != nil {
			found = append(found, v)
		}
	}
	return found
}
