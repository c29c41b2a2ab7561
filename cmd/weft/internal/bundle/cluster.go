package bundle

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/control/world"
)

// logLines is how much of the log of each control plane is taken.
const logLines = "5000"

// Cluster adds what a cluster says: documents, what they are about, the control plane and its
// logs. Namespace is that of the control plane.
func (w *Writer) Cluster(ctx context.Context, c *cluster.Client, namespace string) error {
	for _, t := range world.Catalog().Types() {
		if err := w.documents(ctx, c, t); err != nil {
			return err
		}
	}
	own := "/namespaces/" + namespace + "/"
	for name, path := range map[string]string{
		"version.json":                           "/version",
		"control-plane/deployment.json":          "/apis/apps/v1" + own + "deployments/" + install.Name,
		"control-plane/injection.json":           "/api/v1" + own + "configmaps/weft-injection",
		"control-plane/lease.json":               "/apis/coordination.k8s.io/v1" + own + "leases/" + install.Lease,
		"control-plane/events.json":              "/api/v1" + own + "events",
		"control-plane/role.json":                "/apis/rbac.authorization.k8s.io/v1" + own + "roles/" + install.Name,
		"control-plane/clusterrole.json":         "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + install.Name,
		"control-plane/mutating-webhooks.json":   "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + webhook.ConfigurationName,
		"control-plane/validating-webhooks.json": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/" + webhook.ConfigurationName,
		"control-plane/other-webhooks.json":      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
	} {
		var v any
		if err := c.Get(ctx, path, &v); err != nil {
			w.Fail(path, err)
			continue
		}
		if err := w.JSON("cluster/"+name, unpacked(v)); err != nil {
			return err
		}
	}
	if err := w.definitions(ctx, c); err != nil {
		return err
	}
	return w.logs(ctx, c, namespace)
}

// unpacked is a ConfigMap with the YAML that it holds as values, of which what may be secret
// can be left out; anything else as it is.
func unpacked(v any) any {
	object, _ := v.(map[string]any)
	data, ok := object["data"].(map[string]any)
	if !ok {
		return v
	}
	for key, text := range data {
		var values any
		if text, _ := text.(string); yaml.Unmarshal([]byte(text), &values) != nil {
			values = Left
		}
		data[key] = values
	}
	return object
}

// documents adds all objects of a type that the cluster serves, but Secrets.
func (w *Writer) documents(ctx context.Context, c *cluster.Client, t api.Type) error {
	if t.Secret || t.Name == api.KindSecret || t.Cluster && t.Name != api.KindPod {
		return nil
	}
	path := "/apis/" + t.APIVersion() + "/" + t.Plural
	if t.Group == api.CoreGroup {
		path = "/api/v1/" + t.Plural
	}
	all, err := cluster.List[map[string]any](ctx, c, path)
	if cluster.Status(err) == http.StatusNotFound {
		return nil // its definition is not installed
	}
	if err != nil {
		w.Fail(path, err)
	}
	if t.Name == api.KindPod {
		for i := range all {
			all[i] = outline(all[i])
		}
	}
	return w.JSON("cluster/"+cmp.Or(t.Group, "kuma.io")+"/"+t.Plural+".json", all)
}

// outline is what of a pod is no business of its application: names and images of its
// containers, what weft's own say, its labels and its status.
func outline(pod map[string]any) map[string]any {
	spec, _ := pod["spec"].(map[string]any)
	short := map[string]any{"serviceAccountName": spec["serviceAccountName"], "hostNetwork": spec["hostNetwork"], "nodeName": spec["nodeName"]}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		var out []any
		for _, one := range containers {
			container, _ := one.(map[string]any)
			kept := map[string]any{"name": container["name"], "image": container["image"], "ports": container["ports"]}
			if name, _ := container["name"].(string); strings.HasPrefix(name, "weft-") {
				kept["args"], kept["resources"], kept["restartPolicy"] = container["args"], container["resources"], container["restartPolicy"]
			}
			out = append(out, kept)
		}
		short[list] = out
	}
	meta, _ := pod["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for key := range annotations {
		if domain, _, _ := strings.Cut(key, "/"); !strings.HasSuffix(domain, "kuma.io") && domain != "weft.io" || strings.HasSuffix(key, "env-vars") {
			delete(annotations, key)
		}
	}
	status, _ := pod["status"].(map[string]any)
	for _, list := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		containers, _ := status[list].([]any)
		for _, one := range containers {
			container, _ := one.(map[string]any)
			wordless(container["state"])
			wordless(container["lastState"])
		}
	}
	return map[string]any{"metadata": meta, "spec": short, "status": status}
}

// wordless takes the message from a state of a container: it may be the end of the
// application's log.
func wordless(state any) {
	states, _ := state.(map[string]any)
	for _, s := range states {
		if s, ok := s.(map[string]any); ok {
			delete(s, "message")
		}
	}
}

// definitions adds which custom resources of the groups that are read there are.
func (w *Writer) definitions(ctx context.Context, c *cluster.Client) error {
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	all, err := cluster.List[map[string]json.RawMessage](ctx, c, path)
	if err != nil {
		w.Fail(path, err)
	}
	groups := []string{"kuma.io"}
	for _, t := range world.Catalog().Types() {
		groups = append(groups, t.Group)
	}
	kept := []any{}
	for _, d := range all {
		var spec struct{ Group string }
		if json.Unmarshal(d["spec"], &spec) == nil && slices.Contains(groups, spec.Group) {
			kept = append(kept, map[string]any{"metadata": d["metadata"], "status": d["status"]})
		}
	}
	return w.JSON("cluster/definitions.json", kept)
}

// logs adds the logs of the control planes, also those of ones that ended before.
func (w *Writer) logs(ctx context.Context, c *cluster.Client, namespace string) error {
	pods := "/api/v1/namespaces/" + namespace + "/pods"
	all, err := cluster.List[struct {
		Metadata struct {
			Name   string
			Labels map[string]string
		}
	}](ctx, c, pods)
	if err != nil {
		w.Fail(pods, err)
	}
	for _, p := range all {
		if p.Metadata.Labels["app.kubernetes.io/name"] != "weft" {
			continue // the namespace may be shared
		}
		for name, query := range map[string]string{".log": "", ".previous.log": "&previous=true"} {
			path := pods + "/" + p.Metadata.Name + "/log?tailLines=" + logLines + query
			text, err := c.Text(ctx, path)
			if err != nil {
				if query == "" {
					w.Fail(path, err)
				}
				continue
			}
			if err := w.Text("cluster/control-plane/"+p.Metadata.Name+name, text); err != nil {
				return err
			}
		}
	}
	return nil
}
