package webhook

import (
	"context"
	"log/slog"
	"time"

	registration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/store/kube"
)

// Made follows since when the API server asks about pods.
type Made struct {
	client dynamic.ResourceInterface
	log    *slog.Logger
}

// NewMade asks the API server at c.
func NewMade(c *rest.Config, log *slog.Logger) (*Made, error) {
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	return &Made{client.Resource(registration.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")), log}, nil
}

// Follow tells see when the hooks that inject were made, zero where there are none, and
// again when that changes, until ctx ends.
func (m *Made) Follow(ctx context.Context, see func(time.Time)) {
	said := ""
	kube.Single{Client: m.client, Name: ConfigurationName, See: func(u *unstructured.Unstructured) {
		if u == nil {
			see(time.Time{})
			return
		}
		see(u.GetCreationTimestamp().Time)
	}, Failed: func(err error) {
		if said != err.Error() {
			said = err.Error()
			m.log.Warn("the webhooks cannot be read, so pods without a sidecar are not reported", "error", err)
		}
	}}.Run(ctx)
}
