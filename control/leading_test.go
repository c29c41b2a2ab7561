package control_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
)

const (
	meshes         = "/apis/kuma.io/v1alpha1/meshes"
	systemTimeouts = "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshtimeouts"
	systemRetries  = "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshretries"
)

// defined is an API server with weft's definitions and the namespace of control planes.
func defined(t *testing.T) *kubetest.Cluster {
	t.Helper()
	c := kubetest.Start(t)
	all := world.Catalog()
	for _, d := range crd.All(all, "dev", crd.Bundles(all)...) {
		if status, got := c.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
	}
	create(t, c, "/api/v1/namespaces", `metadata: {name: weft-system}`)
	for _, path := range []string{meshes, systemTimeouts, systemRetries} {
		eventually(t, path+" is served", func() bool {
			status, _ := c.Send(t, http.MethodGet, path, nil)
			return status == http.StatusOK
		})
	}
	return c
}

// replicated is the configuration of a replica of a control plane, in namespace weft-system.
func replicated(t *testing.T, c *kubetest.Cluster, name string) control.Config {
	t.Helper()
	cfg := clustered(t, c.URL, c)
	cfg.Namespace, cfg.Replica, cfg.SkipDefaultPolicies = "weft-system", name, false
	return cfg
}

// leads reports whether a replica is the leader.
func (p *plane) leads() bool {
	_, text := p.call(http.MethodGet, "/metrics", "")
	return strings.Contains(text, "\nweft_leader 1\n")
}

// listed are the names of the objects at path.
func listed(t testing.TB, c *kubetest.Cluster, path string) string {
	t.Helper()
	status, got := c.Send(t, http.MethodGet, path, nil)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %v", path, status, got["message"])
	}
	var all []string
	for _, i := range got["items"].([]any) {
		all = append(all, i.(map[string]any)["metadata"].(map[string]any)["name"].(string))
	}
	return strings.Join(all, " ")
}

func remove(t testing.TB, c *kubetest.Cluster, path string) {
	t.Helper()
	if status, got := c.Send(t, http.MethodDelete, path, nil); status != http.StatusOK {
		t.Fatalf("DELETE %s: %d %v", path, status, got["message"])
	}
}

// TestAPIServerGetsAMeshFromTheLeader: one replica creates mesh default and its policies,
// once; when it stops the other leads, whose sidecars notice nothing.
func TestAPIServerGetsAMeshFromTheLeader(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	a := start(t, replicated(t, c, "a"))
	eventually(t, "the first replica leads", a.leads)
	b := start(t, replicated(t, c, "b"))
	eventually(t, "there is a mesh", func() bool { return listed(t, c, meshes) == "default" })
	eventually(t, "there are its policies", func() bool {
		return listed(t, c, systemTimeouts) == "mesh-timeout-all-default" && listed(t, c, systemRetries) == "mesh-retry-all-default"
	})
	// A leader that ends before it has noted that would leave it to the next one.
	eventually(t, "it is noted that there were", func() bool {
		return field(read(t, c, "/apis/coordination.k8s.io/v1/namespaces/weft-system/leases/weft-leader"), "metadata", "annotations", "weft.io/default-policies-for") == "default"
	})
	seen := b.connectTimeouts("web-1.shop")
	remove(t, c, systemTimeouts+"/mesh-timeout-all-default")
	a.stop()
	eventually(t, "the second replica leads", b.leads)
	create(t, c, shop+"meshtimeouts", `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: slow}, spec: {from: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 17s}}]}}`)
	eventually(t, "its sidecar follows", func() bool { return seen(17 * time.Second) })
	create(t, c, meshes, `{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: second}, spec: {skipCreatingInitialPolicies: [MeshRetry]}}`)
	eventually(t, "a new mesh has policies", func() bool { return listed(t, c, systemTimeouts) == "mesh-timeout-all-second" })
	remove(t, c, meshes+"/second")
	remove(t, c, meshes+"/default")
	eventually(t, "a mesh that was deleted is provided", func() bool {
		code, _ := b.call(http.MethodGet, "/meshes/second", "")
		return code == http.StatusNotFound
	})
	b.want(http.StatusOK, http.MethodGet, "/meshes/default", "")
	if got := listed(t, c, meshes) + listed(t, c, systemTimeouts); got != "mesh-timeout-all-second" {
		t.Errorf("what was deleted is there again: %s", got)
	}
	if got := listed(t, c, systemRetries); got != "mesh-retry-all-default" {
		t.Errorf("retries: %s", got)
	}
}

// TestAWriterThatFailsIsStartedAgain: an error and a bug in one stop neither it nor others.
func TestAWriterThatFailsIsStartedAgain(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var tries, others atomic.Int32
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	control.Write(ctx, slog.New(slog.NewTextHandler(&log, nil)), map[string]func(context.Context) error{
		"broken": func(context.Context) error {
			switch tries.Add(1) {
			case 1:
				return errors.New("no luck")
			case 2:
				panic("a slip")
			}
			stop()
			return nil
		},
		"sound": func(ctx context.Context) error {
			others.Add(1)
			<-ctx.Done()
			return ctx.Err()
		},
	})
	if tries.Load() != 3 || others.Load() != 1 {
		t.Errorf("the broken one ran %d times, the other %d times", tries.Load(), others.Load())
	}
	for _, want := range []string{"writer=broken error=\"no luck\"", "a bug: a slip"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &log)
		}
	}
}
