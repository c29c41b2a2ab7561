package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/kubetest"
)

const dataplanes = "/apis/kuma.io/v1alpha1/namespaces/shop/dataplanes"

// mirrored reports whether weft has written the Dataplane of that name.
func mirrored(t *testing.T, c *kubetest.Cluster, name string) bool {
	t.Helper()
	status, got := c.Send(t, http.MethodGet, dataplanes+"/"+name, nil)
	return status == http.StatusOK && field(got, "metadata", "labels", "kuma.io/managed-by") == "k8s-controller"
}

// TestAPIServerGetsTheDataplanesOfPods: with --write-dataplanes they are there for tools, follow
// the pods and go with them; one that somebody else wrote stays; and no replica reads a mirror.
func TestAPIServerGetsTheDataplanesOfPods(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	webPod(t, c, "web-2", "198.51.100.10")
	eventually(t, "Dataplanes are served", func() bool {
		status, _ := c.Send(t, http.MethodPost, dataplanes, kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: web-1}, spec: {networking: {address: 10.9.9.9, inbound: [{port: 80, tags: {kuma.io/service: mine}}]}}}`))
		return status == http.StatusCreated || status == http.StatusConflict
	})
	cfg := replicated(t, c, "a")
	cfg.WriteDataplanes = true
	p := start(t, cfg)
	eventually(t, "the other pod has a mirror", func() bool { return mirrored(t, c, "web-2") })
	if got := field(read(t, c, dataplanes+"/web-1"), "spec", "networking", "address"); got != "10.9.9.9" {
		t.Errorf("what somebody else has written became %v", got)
	}
	p.readOnce("web-1")
	remove(t, c, dataplanes+"/web-1")
	eventually(t, "there is a mirror as soon as nobody else has the name", func() bool { return mirrored(t, c, "web-1") })
	p.mirrors(c)

	p.readOnce()
	without := start(t, replicated(t, c, "b"))
	without.readOnce()
	replace(t, c, "/api/v1/namespaces/shop/pods/web-1/status", `[{"op": "replace", "path": "/status/containerStatuses/0/ready", "value": false}]`)
	eventually(t, "it follows readiness", func() bool {
		return field(read(t, c, dataplanes+"/web-1"), "spec", "networking", "inbound", 0, "state") == "NotReady"
	})
	remove(t, c, dataplanes+"/web-1")
	eventually(t, "it comes back", func() bool { return mirrored(t, c, "web-1") })
	without.stop() // else it would lead next
	p.stop()
	cfg.Replica = "c"
	again := start(t, cfg)
	again.readOnce()
	eventually(t, "another leads", again.leads)
	remove(t, c, "/api/v1/namespaces/shop/pods/web-2")
	eventually(t, "it goes with the pod", func() bool { return listed(t, c, dataplanes) == "web-1" })
}

// mirrors: a mirror says what the API says, and whose it is.
func (p *plane) mirrors(c *kubetest.Cluster) {
	p.t.Helper()
	owner, made := read(p.t, c, "/api/v1/namespaces/shop/pods/web-1"), read(p.t, c, dataplanes+"/web-1")
	of := field(made, "metadata", "ownerReferences", 0)
	if field(of, "uid") != field(owner, "metadata", "uid") || field(of, "kind") != "Pod" || field(of, "controller") != true {
		p.t.Errorf("the owner: %v", of)
	}
	labels := fmt.Sprint(field(made, "metadata", "labels"))
	for _, want := range []string{"app:web", "k8s.kuma.io/namespace:shop", "kuma.io/display-name:web-1", "kuma.io/env:kubernetes", "kuma.io/managed-by:k8s-controller",
		"kuma.io/mesh:default", "kuma.io/origin:zone", "kuma.io/proxy-type:sidecar", "kuma.io/workload:default", "kuma.io/zone:default"} {
		if !strings.Contains(labels, want) {
			p.t.Errorf("the labels lack %s: %s", want, labels)
		}
	}
	shown := kubetest.Document(p.t, p.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes/web-1.shop", ""))
	if is, should := fmt.Sprint(field(made, "spec", "networking")), fmt.Sprint(shown["networking"]); is != should || is == "<nil>" {
		p.t.Errorf("the mirror says %s, the API %s", is, should)
	}
}

// readOnce: no Dataplane is read of the cluster but those that somebody wrote by hand, and only
// of those there is a note that the pod has one too.
func (p *plane) readOnce(written ...string) {
	p.t.Helper()
	var said string
	eventually(p.t, "what is read is what somebody wrote", func() bool {
		var read []string
		for o := range p.Snapshot().OfKind(api.KindDataplane) {
			if o.From == nil {
				read = append(read, o.Name)
			}
		}
		list := kubetest.Document(p.t, p.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes", ""))
		noted := strings.Contains(p.want(http.StatusOK, http.MethodGet, "/_problems", ""), "a document by this name is written too")
		now := fmt.Sprintf("read: %v; dataplanes: %v; a note: %v", read, list["total"], noted)
		if now != said {
			said = now
			p.t.Log(now)
		}
		return now == fmt.Sprintf("read: %v; dataplanes: 2; a note: %v", written, len(written) > 0)
	})
}

// mirrors has a Dataplane written, changed and deleted.
func (g *granted) mirrors() {
	g.Helper()
	eventually(g.T, "the pod has a mirror", func() bool { return mirrored(g.T, g.Cluster, "web-1") })
	const path = "/api/v1/namespaces/shop/pods/web-1"
	replace(g.T, g.Cluster, path+"/status", `[{"op": "replace", "path": "/status/containerStatuses/0/ready", "value": false}]`)
	eventually(g.T, "it follows", func() bool {
		return field(read(g.T, g.Cluster, dataplanes+"/web-1"), "spec", "networking", "inbound", 0, "state") == "NotReady"
	})
	remove(g.T, g.Cluster, path)
	eventually(g.T, "it goes with the pod", func() bool { return listed(g.T, g.Cluster, dataplanes) == "" })
}
