package inject

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/weftmesh/weft/api/redact"
)

// Resources are those of a container as people write them: quantities by name.
type Resources struct {
	Requests map[string]string `json:"requests"`
	Limits   map[string]string `json:"limits"`
}

// Validate wants quantities, and no request over its limit.
func (r Resources) Validate() error {
	_, err := r.parse()
	return err
}

func (r Resources) parse() (corev1.ResourceRequirements, error) {
	var out corev1.ResourceRequirements
	var err error
	if out.Requests, err = quantities("requests", r.Requests); err != nil {
		return out, err
	}
	if out.Limits, err = quantities("limits", r.Limits); err != nil {
		return out, err
	}
	for _, name := range slices.Sorted(maps.Keys(out.Requests)) {
		request := out.Requests[name]
		if limit, ok := out.Limits[name]; ok && request.Cmp(limit) > 0 {
			return out, fmt.Errorf("the request %s: %s is over its limit %s; raise the limit", name, request.String(), limit.String())
		}
	}
	return out, nil
}

func quantities(of string, given map[string]string) (corev1.ResourceList, error) {
	if len(given) == 0 {
		return nil, nil
	}
	out := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		q, err := resource.ParseQuantity(given[name])
		if err != nil || q.Sign() < 0 {
			return nil, fmt.Errorf("%s.%s: %q is no quantity; write such as 100m or 64Mi", of, redact.Clip(name), redact.Clip(given[name]))
		}
		out[corev1.ResourceName(name)] = q
	}
	return out, nil
}

// with is r with what other says over it, by name.
func (r Resources) with(other Resources) Resources {
	return Resources{joined(r.Requests, other.Requests), joined(r.Limits, other.Limits)}
}

// joined are the entries of both maps; those of the second one win.
func joined(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}

// concurrency is how many threads Envoy gets: one for each processor that the limit
// allows, and at least two (spec/kubernetes.md 4.3).
func concurrency(r corev1.ResourceRequirements) int {
	limit, ok := r.Limits[corev1.ResourceCPU]
	if !ok {
		return 2
	}
	return max(2, int((limit.MilliValue()+999)/1000))
}
