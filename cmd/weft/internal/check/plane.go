package check

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/roots"
)

const groupPlane = "control-plane"

// plane are the checks of the control plane itself.
func plane() []Check {
	return []Check{
		{Group: groupPlane, Code: "ControlPlane", Says: "the control plane runs", run: runs,
			Hint: "see why its pods are not ready: kubectl describe pods, in the namespace of the control plane"},
		{Group: groupPlane, Code: "ControlPlaneVersion", Says: "it is of this version", run: runsVersion,
			Hint: "upgrade the one that is older: weft install control-plane | kubectl apply --server-side -f -"},
		{Group: groupPlane, Code: "Leader", Says: "one of its replicas leads", run: leads,
			Hint: "without a leader no conditions are written; look into the logs of the control plane"},
		{Group: groupPlane, Code: "Authority", Says: "its authority can be read", run: reads,
			Hint: "restore the Secret weft-ca in the namespace of the control plane from a backup; where a replica still runs that has read it, deleting the Secret makes that replica write it again"},
		{Group: groupPlane, Code: "Rights", Says: "it has the rights that it needs, and no others", run: rights,
			Hint: "apply the roles again: weft install control-plane | kubectl apply --server-side -f -"},
	}
}

// deployment is that of the control plane.
type deployment struct {
	Metadata struct{ Labels map[string]string }
	Spec     struct{ Replicas *int }
	Status   struct{ Replicas, ReadyReplicas int }
}

func deployed(ctx context.Context, q *question) (d deployment, f finding) {
	err := q.Cluster.Get(ctx, "/apis/apps/v1/namespaces/"+q.Namespace+"/deployments/"+install.Name, &d)
	switch {
	case cluster.Status(err) == http.StatusNotFound:
		return d, says(Error, "there is no Deployment %s in namespace %s; name the one where it is by --namespace", install.Name, q.Namespace)
	case err != nil:
		return d, unknown(err)
	}
	return d, fine()
}

func runs(ctx context.Context, q *question) finding {
	d, f := deployed(ctx, q)
	if f.status != OK {
		return f
	}
	want := 1
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	switch {
	case d.Status.ReadyReplicas == 0:
		return says(Error, "none of %d replicas is ready", want)
	case d.Status.ReadyReplicas < want:
		return says(Warning, "%d of %d replicas are ready", d.Status.ReadyReplicas, want)
	}
	return fine()
}

func runsVersion(ctx context.Context, q *question) finding {
	d, f := deployed(ctx, q)
	if f.status != OK {
		return says(Skipped, "it does not run")
	}
	if v := d.Metadata.Labels["app.kubernetes.io/version"]; v != q.Version {
		return says(Warning, "it is %s, this program %s", v, q.Version)
	}
	return fine()
}

// lease is that of the leader.
type lease struct {
	Metadata struct{ Annotations map[string]string }
	Spec     struct {
		HolderIdentity       string
		LeaseDurationSeconds int
		RenewTime            time.Time
	}
}

func leaseOf(ctx context.Context, q *question) (l lease, err error) {
	err = q.Cluster.Get(ctx, "/apis/coordination.k8s.io/v1/namespaces/"+q.Namespace+"/leases/"+install.Lease, &l)
	return l, err
}

// reads goes by what the leader says: no Secret is read here.
func reads(ctx context.Context, q *question) finding {
	l, err := leaseOf(ctx, q)
	switch {
	case cluster.Status(err) == http.StatusNotFound:
		return says(Skipped, "no replica leads, and only the leader says so")
	case err != nil:
		return unknown(err)
	}
	if why := l.Metadata.Annotations[roots.FaultAnnotation]; why != "" {
		return says(Error, "%s", why)
	}
	return fine()
}

func leads(ctx context.Context, q *question) finding {
	lease, err := leaseOf(ctx, q)
	switch {
	case cluster.Status(err) == http.StatusNotFound:
		return says(Warning, "there is no Lease %s", install.Lease)
	case err != nil:
		return unknown(err)
	case lease.Spec.HolderIdentity == "":
		return says(Warning, "nobody holds the Lease %s", install.Lease)
	}
	late := q.Now.Add(q.Cluster.Skew).Sub(lease.Spec.RenewTime)
	if late > 2*time.Duration(lease.Spec.LeaseDurationSeconds)*time.Second {
		return says(Warning, "%s has not renewed its Lease for %v", lease.Spec.HolderIdentity, late.Round(time.Second))
	}
	return fine()
}

// rule is a right as the cluster has it.
type rule struct{ APIGroups, Resources, ResourceNames, Verbs []string }

// spread is a set of rules, a text for each single right.
func spread(rules []rule) map[string]bool {
	out := map[string]bool{}
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, g := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, n := range names {
					for _, v := range r.Verbs {
						out[strings.TrimRight(fmt.Sprintf("%s %s.%s %s", v, resource, g, n), ". ")] = true
					}
				}
			}
		}
	}
	return out
}

func rights(ctx context.Context, q *question) finding {
	var missing, more []string
	for _, c := range []struct {
		path string
		role install.Role
	}{
		{"/apis/rbac.authorization.k8s.io/v1/clusterroles/" + install.Name, install.ClusterRole()},
		{"/apis/rbac.authorization.k8s.io/v1/namespaces/" + q.Namespace + "/roles/" + install.Name, install.SystemRole()},
	} {
		var there struct{ Rules []rule }
		if err := q.Cluster.Get(ctx, c.path, &there); err != nil && cluster.Status(err) != http.StatusNotFound {
			return unknown(err)
		}
		var want []rule
		for _, r := range c.role.Rules {
			want = append(want, rule{[]string{r.Group}, r.Resources, r.Names, r.Verbs})
		}
		has, needs := spread(there.Rules), spread(want)
		for _, one := range slices.Sorted(maps.Keys(needs)) {
			if !has[one] {
				missing = append(missing, one)
			}
		}
		for _, one := range slices.Sorted(maps.Keys(has)) {
			if !needs[one] {
				more = append(more, one)
			}
		}
	}
	switch {
	case len(missing) > 0:
		return says(Error, "it may not %s", some(missing))
	case len(more) > 0:
		return says(Warning, "it may also %s", some(more))
	}
	return fine()
}

// some are the first of many.
func some(all []string) string {
	const shown = 5
	if len(all) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
	}
	return strings.Join(all, ", ")
}
