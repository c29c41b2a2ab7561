package inject_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weftmesh/weft/sidecar/inject"
)

// FuzzAnnotations gives one text to every annotation that is read, one after the other:
// it refuses the pod, or makes a pod in which every argument is one word.
func FuzzAnnotations(f *testing.F) {
	for _, list := range values {
		for _, v := range list {
			f.Add(v)
		}
	}
	f.Add("tcp:22,80:1000-1999;0")
	f.Add("$(POD_NAME)\n--xds=http://evil")
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range inject.Annotations() {
			if !a.Read() {
				continue
			}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{a.Name: text}, Labels: map[string]string{"kuma.io/mesh": text}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
			}
			for range 2 {
				got, _, err := inject.Inject(pod, inject.Assumed("n"), config())
				if pod.Labels = nil; err != nil {
					continue
				}
				for _, c := range got.Spec.InitContainers {
					for _, arg := range c.Args {
						if !strings.HasPrefix(arg, "--") || strings.ContainsAny(arg, " \n\t\x00") || strings.Contains(strings.TrimPrefix(arg, "--name=$(POD_NAME).$(POD_NAMESPACE)"), "$(") {
							t.Fatalf("%s: %q gives the argument %q", a.Name, text, arg)
						}
					}
				}
			}
		}
	})
}
