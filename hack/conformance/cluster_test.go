package conformance

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How often the cluster looks around, and for how long something may take.
const (
	poll    = 150 * time.Millisecond
	timeout = 30 * time.Second
)

// cluster is everything that a cluster has and the API server does not bring.
type cluster struct {
	t     *testing.T
	c     client.Client
	plane *plane
	logs  *logs
	pods  map[string]*pod      // by namespace and name
	edges map[string]*edge     // by namespace and name of the Gateway
	seen  map[string]*mirrored // by kind, namespace and name
	last  byte                 // of the addresses that were given
}

// run plays until ctx ends.
func (c *cluster) run(ctx context.Context) {
	for tick := time.NewTicker(poll); ; {
		for _, step := range []func(context.Context) error{c.runPods, c.slice, c.runEdges, c.carry, c.report} {
			if err := step(ctx); err != nil && ctx.Err() == nil {
				c.t.Logf("cluster: %v", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			for _, p := range c.pods {
				p.stop()
			}
			for _, e := range c.edges {
				e.stop()
			}
			return
		}
	}
}

// runPods makes the pods of Deployments, and starts them.
func (c *cluster) runPods(ctx context.Context) error {
	var list appsv1.DeploymentList
	if err := c.c.List(ctx, &list); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for i := range list.Items {
		d := &list.Items[i]
		for n := range *d.Spec.Replicas {
			key, err := c.runPod(ctx, d, int(n))
			if err != nil {
				return err
			}
			wanted[key] = true
		}
	}
	for key, p := range c.pods {
		if !wanted[key] {
			p.stop()
			delete(c.pods, key)
			if err := c.c.Delete(ctx, p.object, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}

// slice makes the EndpointSlices of Services: one for each, with the pods that it selects.
func (c *cluster) slice(ctx context.Context) error {
	var services corev1.ServiceList
	if err := c.c.List(ctx, &services); err != nil {
		return err
	}
	for i := range services.Items {
		s := &services.Items[i]
		if len(s.Spec.Selector) == 0 {
			continue
		}
		if err := c.sliceOf(ctx, s); err != nil {
			return err
		}
	}
	var slices discoveryv1.EndpointSliceList
	if err := c.c.List(ctx, &slices, client.HasLabels{sliced}); err != nil {
		return err
	}
	for i := range slices.Items {
		o := &slices.Items[i]
		var s corev1.Service
		err := c.c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Labels[discoveryv1.LabelServiceName]}, &s)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil {
			if err := c.c.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}
