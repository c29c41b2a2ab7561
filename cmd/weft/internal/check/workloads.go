package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/sidecar/inject"
)

const groupWorkloads = "workloads"

// workloads are the checks of what runs with sidecars.
func workloads() []Check {
	return []Check{
		{Group: groupWorkloads, Code: "BarePods", Says: "pods that are to have a sidecar have one", run: bare,
			Hint: "they were made before weft, or past its webhooks: restart their workloads, as by kubectl rollout restart"},
		{Group: groupWorkloads, Code: "SidecarVersions", Says: "sidecars are of the control plane's version", run: versions,
			Hint: "they are served, two minor versions back; restart their workloads when it suits"},
	}
}

type pod = corev1.Pod

// all are the pods of the cluster.
func (q *question) all(ctx context.Context) ([]pod, error) {
	if !q.read {
		q.pods, q.podsErr = cluster.List[pod](ctx, q.Cluster, "/api/v1/pods")
		q.read = true
	}
	return q.pods, q.podsErr
}

func bare(ctx context.Context, q *question) finding {
	pods, err := q.all(ctx)
	if err != nil {
		return unknown(err)
	}
	namespaces, err := cluster.List[corev1.Namespace](ctx, q.Cluster, "/api/v1/namespaces")
	if err != nil {
		return unknown(err)
	}
	of := map[string]inject.Namespace{}
	for _, n := range namespaces {
		of[n.Name] = inject.Namespace{Name: n.Name, Labels: n.Labels, Annotations: n.Annotations}
	}
	c := injection(ctx, q)
	var found []string
	for i := range pods {
		p := &pods[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil
		if !ended && !carries(p) && inject.Decide(p, of[p.Namespace], c).Verdict == inject.Injects {
			found = append(found, p.Namespace+"/"+p.Name)
		}
	}
	if len(found) > 0 {
		return says(Warning, "%d without: %s", len(found), some(found))
	}
	return fine()
}

// injection are the values by which pods get sidecars; without them the defaults.
func injection(ctx context.Context, q *question) inject.Config {
	c := inject.Default(q.Version)
	var values struct{ Data map[string]string }
	if q.Cluster.Get(ctx, "/api/v1/namespaces/"+q.Namespace+"/configmaps/weft-injection", &values) == nil {
		if given, err := c.Values("injection.yaml", []byte(values.Data["injection.yaml"])); err == nil {
			c = given
		}
	}
	c.SystemNamespaces = append(c.SystemNamespaces, q.Namespace)
	return c
}

// carries reports whether a pod has weft's sidecar.
func carries(p *pod) bool {
	is := func(c corev1.Container) bool { return c.Name == inject.SidecarContainer }
	return slices.ContainsFunc(p.Spec.Containers, is) || slices.ContainsFunc(p.Spec.InitContainers, is)
}

func versions(ctx context.Context, q *question) finding {
	pods, err := q.all(ctx)
	if err != nil {
		return unknown(err)
	}
	others := map[string]int{}
	for i := range pods {
		if v := pods[i].Annotations["weft.io/injected-by"]; carries(&pods[i]) && inject.Tag(v) != q.Version {
			others[v]++
		}
	}
	var texts []string
	for _, v := range slices.Sorted(maps.Keys(others)) {
		texts = append(texts, fmt.Sprintf("%d of %s", others[v], v))
	}
	if len(texts) > 0 {
		return says(Warning, "this program is %s; %s", q.Version, strings.Join(texts, ", "))
	}
	return fine()
}
