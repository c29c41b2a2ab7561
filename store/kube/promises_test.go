package kube_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/unsupported"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/store/kube"
)

func retryRef(mesh, namespace, name string) api.Ref {
	return api.Ref{Kind: "MeshRetry", Mesh: mesh, Namespace: namespace, Name: name}
}

// labelled is an object with one label more.
func labelled(o map[string]any, key, value string) map[string]any {
	out, meta := maps.Clone(o), maps.Clone(o["metadata"].(map[string]any))
	meta["labels"] = map[string]any{key: value}
	out["metadata"] = meta
	return out
}

// replace puts an object in the place of the one that is there.
func replace(t *testing.T, c *kubetest.Cluster, path string, o map[string]any) {
	t.Helper()
	_, now := c.Send(t, http.MethodGet, path, nil)
	o["metadata"].(map[string]any)["resourceVersion"] = now["metadata"].(map[string]any)["resourceVersion"]
	send(t, c, http.MethodPut, path, o, http.StatusOK)
}

// problem finds what is wrong with an object.
func problem(s *kube.Store, ref api.Ref, code string) *api.Violation {
	for _, v := range s.Problems() {
		if v.Object == ref && (code == "" || v.Code == code) {
			return v
		}
	}
	return nil
}

// TestAPIServerPromises: what one reader of a cluster relies on, of one API server.
func TestAPIServerPromises(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	install(t, c)
	s := open(t, c)
	if err := s.Synced(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("the last sound version stays", func(t *testing.T) { lastSoundVersion(t, c, s) })
	t.Run("a label that names another namespace", func(t *testing.T) { labelLies(t, c, s) })
	t.Run("an object moves to another mesh", func(t *testing.T) { movesMesh(t, c, s) })
	t.Run("a kind of Kuma's that weft lacks", func(t *testing.T) { absentKind(t, c, s) })
	t.Run("watched namespaces", func(t *testing.T) { watchedNamespaces(t, c) })
	t.Run("the API server is away", func(t *testing.T) { outage(t, c, s) })
}

// labelLies: an object is of the namespace that it is in, whatever its label says, and the
// operators' are those of the catalogue.
func labelLies(t *testing.T, c *kubetest.Cluster, s *kube.Store) {
	ref := retryRef("default", "default", "lies")
	send(t, c, http.MethodPost, retries, labelled(retry("lies", 3), api.LabelNamespace, "kuma-system"), http.StatusCreated)
	eventually(t, "it arrives", func() bool { return s.Snapshot().Has(ref) })
	if o, _ := s.Snapshot().Get(ref); o.Home() != (api.Home{Namespace: "default"}) {
		t.Errorf("it lives in %+v", o.Home())
	}
	if v := problem(s, ref, "ReadOnly"); v == nil || v.Severity != api.Warning {
		t.Errorf("what is told of the label: %+v", v)
	}
}

// lastSoundVersion: what the definition lets through and weft refuses leaves the last sound
// version in force, and is a problem until it is corrected.
func lastSoundVersion(t *testing.T, c *kubetest.Cluster, s *kube.Store) {
	ref := retryRef("default", "default", "sound")
	send(t, c, http.MethodPost, retries, retry("sound", 3), http.StatusCreated)
	eventually(t, "it arrives", func() bool { return s.Snapshot().Has(ref) })
	before, _ := s.Snapshot().Get(ref)
	replace(t, c, retries+"/sound", labelled(retry("sound", 4), api.LabelEffect, "none"))
	eventually(t, "the mistake is told", func() bool { return problem(s, ref, "") != nil })
	if v := problem(s, ref, ""); v.Severity != api.Error || !strings.Contains(string(v.Field), api.LabelEffect) || v.Line != 0 {
		t.Errorf("the mistake: %+v", v)
	}
	if now, ok := s.Snapshot().Get(ref); !ok || now.ResourceVersion != before.ResourceVersion {
		t.Errorf("after the mistake there is %+v", now)
	}
	replace(t, c, retries+"/sound", retry("sound", 5))
	eventually(t, "the correction arrives", func() bool {
		now, ok := s.Snapshot().Get(ref)
		return ok && now.Generation == 3 && problem(s, ref, "") == nil
	})
}

// movesMesh: the label of the mesh is part of the reference, so that a change of it deletes
// one object and creates another, in one revision.
func movesMesh(t *testing.T, c *kubetest.Cluster, s *kube.Store) {
	here, there := retryRef("default", "default", "moving"), retryRef("other", "default", "moving")
	send(t, c, http.MethodPost, retries, retry("moving", 3), http.StatusCreated)
	eventually(t, "it arrives", func() bool { return s.Snapshot().Has(here) })
	_, w := s.Watch()
	defer w.Stop()
	replace(t, c, retries+"/moving", labelled(retry("moving", 3), api.LabelMesh, "other"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		now, changes, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if now.Has(here) == now.Has(there) {
			t.Fatalf("at revision %d it is in both meshes or none: %v", now.Revision(), changes)
		}
		if now.Has(there) {
			return
		}
	}
}

// absentKind: objects of a kind that Kuma has and weft lacks are told, and stop nothing.
func absentKind(t *testing.T, c *kubetest.Cluster, s *kube.Store) {
	send(t, c, http.MethodPost, definitions, map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "meshproxypatches.kuma.io"},
		"spec": map[string]any{"group": "kuma.io", "scope": "Namespaced", "names": map[string]any{"kind": "MeshProxyPatch", "plural": "meshproxypatches"},
			"versions": []any{map[string]any{"name": "v1alpha1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}, http.StatusCreated)
	const patches = "/apis/kuma.io/v1alpha1/namespaces/default/meshproxypatches"
	eventually(t, "the API server serves it", func() bool {
		status, _ := c.Send(t, http.MethodPost, patches, object("kuma.io/v1alpha1", "MeshProxyPatch", "default", "p", map[string]any{}))
		return status == http.StatusCreated
	})
	ref := api.Ref{Kind: "MeshProxyPatch", Namespace: "default", Name: "p"}
	eventually(t, "it is told", func() bool { return problem(s, ref, unsupported.CodeUnsupportedKind) != nil })
	send(t, c, http.MethodDelete, patches+"/p", nil, http.StatusOK)
	eventually(t, "it is told no more", func() bool { return problem(s, ref, "") == nil })
}

// watchedNamespaces: of others nothing is read but what belongs to no namespace.
func watchedNamespaces(t *testing.T, c *kubetest.Cluster) {
	for _, name := range []string{"watched", "ignored"} {
		send(t, c, http.MethodPost, "/api/v1/namespaces", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}, http.StatusCreated)
		o := retry("r", 1)
		o["metadata"].(map[string]any)["namespace"] = name
		send(t, c, http.MethodPost, "/apis/kuma.io/v1alpha1/namespaces/"+name+"/meshretries", o, http.StatusCreated)
	}
	s, err := kube.Open(kube.Config{REST: &rest.Config{Host: c.URL, BearerToken: c.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.CA}},
		Catalog: world.Catalog(), Default: world.DefaultMesh(), Namespaces: []string{"watched"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Synced(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for o := range s.Snapshot().All() {
		if o.Kind == "MeshRetry" || o.Kind == api.KindNamespace {
			got = append(got, o.Kind+"/"+o.Namespace+"/"+o.Name)
		}
	}
	slices.Sort(got)
	if want := []string{"MeshRetry/watched/r", "Namespace//watched"}; !slices.Equal(got, want) {
		t.Errorf("read: %v", got)
	}
}

// outage is row 55: without the API server the last state is served, and its age told; what
// happens after its restart arrives, and nothing vanishes for a moment.
func outage(t *testing.T, c *kubetest.Cluster, s *kube.Store) {
	before, w := s.Watch()
	defer w.Stop()
	c.Stop()
	eventually(t, "the state is stale, and gets older", func() bool { return s.Stale() > time.Second })
	if now := s.Snapshot(); now.Revision() != before.Revision() || s.Health() != nil || s.Waiting() != nil {
		t.Errorf("without the API server: revision %d after %d, %v, %v", now.Revision(), before.Revision(), s.Health(), s.Waiting())
	}
	c.Restart(t)
	send(t, c, http.MethodPost, retries, retry("afterwards", 1), http.StatusCreated)
	eventually(t, "what was written after the restart arrives", func() bool { return s.Snapshot().Has(retryRef("default", "default", "afterwards")) })
	eventually(t, "everything is followed again", func() bool { return s.Stale() == 0 })
	send(t, c, http.MethodPost, retries, retry("last", 1), http.StatusCreated)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for done := false; !done; {
		now, changes, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range changes {
			if change.After == nil {
				t.Errorf("at revision %d %s is gone", now.Revision(), change.Ref())
			}
		}
		done = now.Has(retryRef("default", "default", "last"))
	}
}
