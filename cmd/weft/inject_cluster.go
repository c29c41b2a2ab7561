package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/sidecar/inject/documents"
)

// running is a pod, or what makes pods, as a cluster has it: the documents that say whether
// it gets a sidecar, the values of the installation, and what stands in the way.
type running struct {
	texts    []decode.Text
	config   inject.Config
	warnings []string
}

// kindsOfPods are the collections in which explain looks for a name.
var kindsOfPods = []string{"/api/v1/%s/pods/", "/apis/apps/v1/%s/deployments/", "/apis/apps/v1/%s/statefulsets/", "/apis/apps/v1/%s/daemonsets/", "/apis/batch/v1/%s/cronjobs/", "/apis/batch/v1/%s/jobs/"}

// running asks the cluster for NAMESPACE/NAME.
func (t clusterTarget) running(ctx context.Context, name string) (r running, err error) {
	namespace, name, ok := strings.Cut(name, "/")
	if !ok || namespace == "" || name == "" {
		return r, usage("name a pod of the cluster as NAMESPACE/NAME, or give documents with -f")
	}
	c, err := t.open()
	if err != nil {
		return r, err
	}
	object, err := find(ctx, c, namespace, name)
	if err != nil {
		return r, err
	}
	home, err := c.Text(ctx, "/api/v1/namespaces/"+namespace)
	if err != nil {
		return r, fmt.Errorf("namespace %s: %w", namespace, err)
	}
	r.texts = []decode.Text{{File: "namespace " + namespace, Text: home}, {File: namespace + "/" + name, Text: object}}
	var since string
	r.config, since, r.warnings = installedInjection(ctx, c)
	if w := missed(object, since); w != "" {
		r.warnings = append(r.warnings, w)
	}
	return r, nil
}

// missed says why a pod that runs is without what is explained of it (spec/kubernetes.md 4.6).
func missed(object []byte, since string) string {
	var pod struct {
		Kind     string
		Metadata struct{ CreationTimestamp string }
		Spec     struct{ InitContainers, Containers []struct{ Name string } }
	}
	if json.Unmarshal(object, &pod) != nil || pod.Kind != "Pod" {
		return ""
	}
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if c.Name == inject.SidecarContainer {
			return ""
		}
	}
	switch made := pod.Metadata.CreationTimestamp; {
	case since == "":
		return "the pod has no sidecar"
	case made < since: // both as RFC 3339 in UTC
		return "the pod has no sidecar; it is older than the webhooks (CreatedBeforeInjector): what follows holds when it is made anew"
	}
	return "the pod has no sidecar; where it is to have one, it was made past the webhooks, or before a label (Bypassed): what follows holds when it is made anew"
}

// find is the document of a pod, or of what makes pods.
func find(ctx context.Context, c *cluster.Client, namespace, name string) ([]byte, error) {
	for _, kind := range kindsOfPods {
		text, err := c.Text(ctx, fmt.Sprintf(kind, "namespaces/"+namespace)+name)
		if err == nil {
			return text, nil
		}
		if cluster.Status(err) != http.StatusNotFound {
			return nil, fmt.Errorf("%s/%s: %w", namespace, name, err)
		}
	}
	return nil, fmt.Errorf("namespace %s has no pod %s, and nothing of that name that makes pods", namespace, name)
}

// installedInjection are the values of the control plane that the webhooks lead to, and what
// keeps the API server from asking it. Since is when the webhooks were made.
func installedInjection(ctx context.Context, c *cluster.Client) (config inject.Config, since string, warnings []string) {
	config = inject.Default(thisBuild().Version)
	var hooks struct {
		Metadata struct{ CreationTimestamp string }
		Webhooks []struct {
			Name         string
			ClientConfig struct {
				CABundle []byte
				Service  *struct{ Namespace string }
			}
		}
	}
	if err := c.Get(ctx, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/"+webhook.ConfigurationName, &hooks); err != nil {
		warnings = append(warnings, "the webhooks of weft cannot be read; without them no pod gets a sidecar: "+err.Error())
	}
	namespace := install.DefaultNamespace
	for _, h := range hooks.Webhooks {
		if h.Name != inject.HookNamespace && h.Name != inject.HookPod {
			continue
		}
		if len(h.ClientConfig.CABundle) == 0 {
			warnings = append(warnings, "webhook "+h.Name+" trusts no authority yet: the API server refuses what it is asked about")
		}
		if s := h.ClientConfig.Service; s != nil {
			namespace = s.Namespace
		}
	}
	var values struct{ Data map[string]string }
	err := c.Get(ctx, "/api/v1/namespaces/"+namespace+"/configmaps/weft-injection", &values)
	if err == nil {
		config, err = config.Values("injection.yaml", []byte(values.Data["injection.yaml"]))
	}
	if err != nil {
		warnings = append(warnings, "the values of the installation cannot be read, the defaults are taken: "+oneLine(err.Error()))
	}
	return config, hooks.Metadata.CreationTimestamp, warnings
}

// explainRunning is explain of a pod in a cluster.
func (a *app) explainRunning(ctx context.Context, t clusterTarget, name string) (documents.Result, error) {
	r, err := t.running(ctx, name)
	if err != nil {
		return documents.Result{}, err
	}
	for _, w := range r.warnings {
		fmt.Fprintln(a.err, "weft: "+w)
	}
	return documents.Inject(documents.Settings{Config: r.config}, r.texts...), nil
}
