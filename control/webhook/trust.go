package webhook

import (
	"strconv"

	registration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// PatchMutating is the JSON patch by which all hooks of a configuration trust ca, PEM: nil
// where they do. It wants the configuration as it was read, and fails at an API server
// where another was stored since. It does not care how the hooks are called
// (spec/kubernetes.md 6.6).
func PatchMutating(c *registration.MutatingWebhookConfiguration, ca []byte) []byte {
	var clients []registration.WebhookClientConfig
	for _, h := range c.Webhooks {
		clients = append(clients, h.ClientConfig)
	}
	return trusting(c.ResourceVersion, clients, ca)
}

// PatchValidating is PatchMutating for the hooks that refuse.
func PatchValidating(c *registration.ValidatingWebhookConfiguration, ca []byte) []byte {
	var clients []registration.WebhookClientConfig
	for _, h := range c.Webhooks {
		clients = append(clients, h.ClientConfig)
	}
	return trusting(c.ResourceVersion, clients, ca)
}

func trusting(version string, clients []registration.WebhookClientConfig, ca []byte) []byte {
	operations := []operation{{Op: "test", Path: "/metadata/resourceVersion", Value: version}}
	for i, c := range clients {
		if string(c.CABundle) != string(ca) {
			operations = append(operations, operation{Op: "add", Path: "/webhooks/" + strconv.Itoa(i) + "/clientConfig/caBundle", Value: ca})
		}
	}
	if len(operations) == 1 {
		return nil
	}
	text, _ := json.Marshal(operations) // of texts it does not fail
	return text
}
