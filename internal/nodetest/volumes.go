package nodetest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// accountDir is where the token of a pod's account is.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// mount makes the directories of the pod's volumes, and that of its account's token, which
// containers of weft-system alone have: applications here ask nothing.
func (p *Pod) mount() {
	t := p.node.t
	t.Helper()
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		dir := p.volume(v.Name)
		switch {
		case v.EmptyDir != nil:
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		case v.ConfigMap != nil:
			_, got := p.node.Send(t, http.MethodGet, "/api/v1/namespaces/"+p.Namespace+"/configmaps/"+v.ConfigMap.Name, nil)
			data, _ := got["data"].(map[string]any)
			for name, text := range data {
				p.file(dir, name, text.(string))
			}
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.ServiceAccountToken != nil {
					p.file(dir, s.ServiceAccountToken.Path, p.token(s.ServiceAccountToken.Audience))
				}
			}
		default:
			t.Fatalf("pod %s: nobody plays volume %s", p.Name, v.Name)
		}
	}
	if m := p.Spec.AutomountServiceAccountToken; m != nil && !*m || p.node.app(p.Spec.Containers[0].Image) != nil {
		return
	}
	dir := p.volume("account")
	p.file(dir, "token", p.token(""))
	p.file(dir, "ca.crt", string(p.node.CA))
	p.file(dir, "namespace", p.Namespace)
	host, port, _ := strings.Cut(strings.TrimPrefix(p.node.URL, "https://"), ":")
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "account", MountPath: accountDir})
		c.Env = append(c.Env, corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: host}, corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: port})
	}
}

func (p *Pod) volume(name string) string {
	p.volumes[name] = filepath.Join(p.dir, "volumes", name)
	if err := os.MkdirAll(p.volumes[name], 0o755); err != nil {
		p.node.t.Fatal(err)
	}
	return p.volumes[name]
}

func (p *Pod) file(dir, name, text string) {
	p.node.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		p.node.t.Fatal(err)
	}
}

// token is one of the pod's account, bound to the pod.
func (p *Pod) token(audience string) string {
	p.node.t.Helper()
	spec := map[string]any{"expirationSeconds": 3600,
		"boundObjectRef": map[string]any{"apiVersion": "v1", "kind": "Pod", "name": p.Name, "uid": p.UID}}
	if audience != "" {
		spec["audiences"] = []string{audience}
	}
	account := p.Spec.ServiceAccountName
	status, got := p.node.Send(p.node.t, http.MethodPost, fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s/token", p.Namespace, account),
		map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
	if status != http.StatusCreated {
		p.node.t.Fatalf("token of %s/%s: %d %v", p.Namespace, account, status, got["message"])
	}
	return got["status"].(map[string]any)["token"].(string)
}

// hosts writes the names that a cluster's DNS would resolve: those of Services, as they are
// when the pod starts.
func (p *Pod) hosts() {
	lines := "127.0.0.1 localhost\n::1 localhost\n" + p.Net.IPv4.String() + " " + p.Name + "\n"
	p.node.mu.Lock()
	defer p.node.mu.Unlock()
	for _, s := range p.node.services {
		if s.address != "" {
			lines += fmt.Sprintf("%s %s.%s.svc.cluster.local %s.%s.svc %s.%s\n", s.address, s.Name, s.Namespace, s.Name, s.Namespace, s.Name, s.Namespace)
		}
	}
	p.file(p.dir, "hosts", lines)
}
