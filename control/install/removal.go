package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Reference is an object by its name, as `kubectl delete -f` reads it.
type Reference struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   ObjectName `json:"metadata"`
}

// ObjectName is where an object stands.
type ObjectName struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// last are the kinds that go after all others, in this order: rights, while who has them ends.
var last = []string{"ClusterRoleBinding", "RoleBinding", "ClusterRole", "Role", "ServiceAccount"}

// Removal are the objects of Render in the order in which they are taken away: first the hooks, since
// without a control plane an API server would refuse what it has to ask about; the rights last. No
// namespace is among them, and so no document of anybody.
func Removal(r Release, v UserValues) ([]Reference, error) {
	manifests, err := Render(r, v)
	if err != nil {
		return nil, err
	}
	var all []Reference
	for _, m := range manifests {
		for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(m.Text), 4096); ; {
			var one Reference
			if err := d.Decode(&one); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			if one.Kind != "" && one.Kind != "Namespace" {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Reference) int { return a.turn() - b.turn() })
	return all, nil
}

// turn is when an object goes.
func (o Reference) turn() int {
	if strings.HasSuffix(o.Kind, "WebhookConfiguration") {
		return 0
	}
	return 2 + slices.Index(last, o.Kind) // 1 for those that it does not name
}
