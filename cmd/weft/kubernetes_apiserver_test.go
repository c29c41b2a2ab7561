package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/kubetest"
)

// story plays what a reader of docs/kubernetes.md does, and what a cluster does then that
// is more than an API server: it runs the control plane as its Deployment says, and makes
// pods of other Deployments.
type story struct {
	*testing.T
	*kubetest.Cluster
	kubeconfig string
	api, hooks string // addresses of the control plane
	token      string // a file
	installed  []map[string]any
}

// commands are the lines of a section of the page.
func commands(t *testing.T, title string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## "+title+"\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	return strings.Split(strings.TrimSpace(block), "\n")
}

// TestAPIServerStory takes the five commands of the page from an empty cluster to an
// explained request, and checks the cluster then.
func TestAPIServerStory(t *testing.T) {
	t.Parallel()
	s := &story{T: t, Cluster: kubetest.Start(t)}
	s.kubeconfig = kubeconfig(t, s.Cluster)
	lines := commands(t, "From an empty cluster to an explained request")
	if len(lines) != 5 {
		t.Fatalf("%d commands: %q", len(lines), lines)
	}
	last := ""
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case line == "weft install control-plane | kubectl apply --server-side -f -":
			s.install(s.weft(words[1:3]...))
		case strings.HasPrefix(line, "kubectl apply -f "):
			s.apply(words[3])
		case strings.HasPrefix(line, "kubectl exec -n weft-system deploy/weft-control-plane -- weft "):
			last = s.ask(line)
		case words[0] == "weft":
			s.weft(append(words[1:], "--kubeconfig", s.kubeconfig)...)
		default:
			t.Fatalf("nobody plays %q", line)
		}
	}
	for _, want := range []string{"forward to 90% orders.shop:80, 10% orders-v2.shop:80\n", "http.numRetries = 3 ", "MeshRetry/shop/orders to[0] (route)", "http.requestTimeout = 2s "} {
		if !strings.Contains(last, want) {
			t.Errorf("%q is not in\n%s", want, last)
		}
	}
	s.ready()
	s.troubles()
	s.weft("check", "--kubeconfig", s.kubeconfig)
	for _, o := range s.installed { // what the control plane has written there stays
		s.Apply(s, o, "")
	}
	s.weft("check", "--kubeconfig", s.kubeconfig)
}

// weft runs a command that has to succeed.
func (s *story) weft(args ...string) string {
	s.Helper()
	status, out, errs := said(s.T, args...)
	if status != 0 {
		s.Fatalf("weft %v: exit %d\n%s%s", args, status, out, errs)
	}
	return out
}

// install applies what the command printed, and runs the control plane.
func (s *story) install(text string) {
	s.hooks = envoytest.Address(s)
	var deployment, injection map[string]any
	for _, o := range kubetest.Documents(s, []byte(text)) {
		switch kind := o["kind"].(string); {
		case strings.HasSuffix(kind, "WebhookConfiguration"): // no Service leads anywhere here
			for _, h := range o["webhooks"].([]any) {
				client := h.(map[string]any)["clientConfig"].(map[string]any)
				h.(map[string]any)["clientConfig"] = map[string]any{"url": "https://" + s.hooks + client["service"].(map[string]any)["path"].(string)}
			}
		case kind == "Deployment":
			deployment = o
		case kind == "ConfigMap":
			injection = o
		}
		s.Apply(s, o, "")
		s.installed = append(s.installed, o)
	}
	s.serve(deployment, injection["data"].(map[string]any)["injection.yaml"].(string))
}

// serve runs what the container of the Deployment runs, with its account; addresses and
// files are those of this host.
func (s *story) serve(deployment map[string]any, injection string) {
	s.Helper()
	status, got := s.Send(s, http.MethodPost, "/api/v1/namespaces/weft-system/serviceaccounts/weft-control-plane/token",
		map[string]any{"spec": map[string]any{"audiences": []any{"https://kubernetes.default.svc"}, "expirationSeconds": 3600}})
	if status != http.StatusCreated {
		s.Fatalf("a token of the account: %d %v", status, got["message"])
	}
	account := *s.Cluster
	account.Token = got["status"].(map[string]any)["token"].(string)
	dir := s.TempDir()
	file := filepath.Join(dir, "injection.yaml")
	if err := os.WriteFile(file, []byte(injection), 0o600); err != nil {
		s.Fatal(err)
	}
	s.api, s.token = envoytest.Address(s), filepath.Join(dir, "data", "admin-token")
	here := strings.NewReplacer("$(POD_NAMESPACE)", "weft-system", "/etc/weft/injection.yaml", file,
		"--xds=:5678", "--xds="+envoytest.Address(s), "--api=127.0.0.1:5681", "--api="+s.api, "--webhooks=:5443", "--webhooks="+s.hooks, "--api-tls=:5682", "--api-tls="+envoytest.Address(s))
	pod := deployment["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	var args []string
	for _, a := range pod["containers"].([]any)[0].(map[string]any)["args"].([]any) {
		args = append(args, here.Replace(a.(string)))
	}
	args = append(args, "--kubeconfig", kubeconfig(s.T, &account), "--data-dir", filepath.Join(dir, "data"))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	var out, errs bytes.Buffer
	go func() { ended <- run(ctx, args, strings.NewReader(""), &out, &errs) }()
	s.Cleanup(func() {
		stop()
		if status := <-ended; status != 0 || strings.Contains(errs.String(), "forbidden") {
			s.Errorf("weft %v: exit %d\n%s", args, status, &errs)
		} else if s.Failed() {
			s.Log(errs.String())
		}
	})
}

// apply applies the documents of a file, and makes a pod of each Deployment.
func (s *story) apply(file string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		s.Fatal(err)
	}
	for i, o := range kubetest.Documents(s, text) {
		s.until("the API server takes a "+o["kind"].(string), func() bool { return s.takes(o) })
		if o["kind"] == "Deployment" {
			s.pod(o, fmt.Sprintf("198.51.100.%d", i+1))
		}
	}
}

// takes applies a document of which webhooks may not be answered yet.
func (s *story) takes(o map[string]any) bool {
	status, _ := s.Send(s, http.MethodPost, strings.TrimSuffix(s.Path(s, o), "/"+o["metadata"].(map[string]any)["name"].(string)), o)
	return status == http.StatusCreated || status == http.StatusConflict
}

// pod is the first of a Deployment: injected, and running.
func (s *story) pod(deployment map[string]any, ip string) {
	s.Helper()
	name := deployment["metadata"].(map[string]any)["name"].(string)
	template := deployment["spec"].(map[string]any)["template"].(map[string]any)
	spec := template["spec"].(map[string]any)
	spec["serviceAccountName"] = "default"
	pod := map[string]any{"metadata": map[string]any{"name": name + "-1", "labels": template["metadata"].(map[string]any)["labels"]}, "spec": spec}
	var made map[string]any
	s.until("pods get sidecars", func() bool {
		status, got := s.Send(s, http.MethodPost, "/api/v1/namespaces/shop/pods", pod)
		made = got
		return status == http.StatusCreated
	})
	statuses := func(list string) (out []any) {
		containers, _ := made["spec"].(map[string]any)[list].([]any)
		for _, c := range containers {
			out = append(out, map[string]any{"name": c.(map[string]any)["name"], "ready": true, "started": true, "restartCount": 0, "image": "i", "imageID": "i"})
		}
		return out
	}
	inits := statuses("initContainers")
	if len(inits) != 2 {
		s.Fatalf("%s-1 has %d init containers", name, len(inits))
	}
	made["status"] = map[string]any{"phase": "Running", "podIP": ip, "podIPs": []any{map[string]any{"ip": ip}}, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		"containerStatuses": statuses("containers"), "initContainerStatuses": inits}
	if status, got := s.Send(s, http.MethodPut, "/api/v1/namespaces/shop/pods/"+name+"-1/status", made); status != http.StatusOK {
		s.Fatalf("%d %v", status, got["message"])
	}
	s.Apply(s, kubetest.Document(s, fmt.Sprintf(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: %s, namespace: shop, labels: {kubernetes.io/service-name: %s}}, addressType: IPv4,
ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: ["%s"], conditions: {ready: true}, targetRef: {kind: Pod, name: %s-1, namespace: shop}}]}`, name, name, ip, name)), "")
}

// ask runs a command of the page in the control plane's pod.
func (s *story) ask(line string) (out string) {
	s.Helper()
	_, command, _ := strings.Cut(line, "-- weft ")
	before, rest, _ := strings.Cut(command, "$(")
	_, after, _ := strings.Cut(rest, ")")
	args := append(strings.Fields(before+"frontend-1"+after), "--server", "http://"+s.api, "--token-file", s.token)
	s.until("the request is explained", func() bool {
		var status int
		status, out, _ = said(s.T, args...)
		return status == 0 && strings.Contains(out, "MeshTimeout/shop/orders") && strings.Contains(out, "MeshRetry/shop/orders")
	})
	return out
}

// ready is what the controllers of Deployments say in the end.
func (s *story) ready() {
	s.Helper()
	const path = "/apis/apps/v1/namespaces/weft-system/deployments/weft-control-plane"
	_, d := s.Send(s, http.MethodGet, path, nil)
	d["status"] = map[string]any{"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1}
	if status, got := s.Send(s, http.MethodPut, path+"/status", d); status != http.StatusOK {
		s.Fatalf("%d %v", status, got["message"])
	}
}

func (s *story) until(what string, cond func() bool) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("not in a minute: %s", what)
		}
	}
}
