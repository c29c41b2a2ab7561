package control

import (
	"context"
	"fmt"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/xds/server/limit"
)

// admits makes what answers the API server's webhooks.
func (p *Plane) admits() (http.Handler, error) {
	values, err := p.cfg.Injection(p.settings.SystemNamespaces)
	if err != nil {
		return nil, err
	}
	answers := webhook.Handler(webhook.Options{Cluster: admitting{p, values}, Catalog: p.settings.Catalog().InZone(p.settings.InZone()),
		Ourselves: webhook.AccountName(p.cfg.Namespace, webhook.ServiceName), Injected: p.observe.Injected(), Admission: p.admission, Reviewed: p.observe.Reviewed(), Log: p.log})
	return p.onceRead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.cfg.WebhooksClientCA != "" { // only who has a certificate comes here
			limit.Proven(r.Context())
		}
		answers.ServeHTTP(w, r)
	})), nil
}

// admitting is what answers to webhooks depend on: what was read of the cluster, and the
// API server where that may be old.
type admitting struct {
	*Plane
	values inject.Config
}

// Namespace is what was read. Where that would leave pods without a sidecar the API server is asked: it
// asks about a pod because it has seen a label, which may be too new to be read here.
func (a admitting) Namespace(ctx context.Context, name string) (inject.Namespace, error) {
	o := world.NamespaceOf(a.store.Snapshot(), name)
	if o == nil || !enabled(o) {
		fresh, err := a.backend.Kubernetes.Fetch(ctx, api.KindNamespace, "", name)
		switch {
		case err != nil: // a label that was not seen would leave the pod without a sidecar
			return inject.Namespace{}, err
		case fresh != nil:
			o = fresh
		}
	}
	if o == nil {
		return inject.Namespace{}, fmt.Errorf("there is no namespace %s", name)
	}
	out := inject.Namespace{Name: name, Labels: o.Labels}
	if o.Meta != nil {
		out.Annotations = o.Meta.Annotations
	}
	return out, nil
}

// enabled reports whether pods of a namespace get sidecars unasked.
func enabled(namespace *api.Object) bool {
	v := namespace.Labels[api.LabelInjection]
	return v == "enabled" || v == "true"
}

// HasMesh looks at what was read, then at the API server.
func (a admitting) HasMesh(ctx context.Context, name string) (bool, error) {
	if a.store.Snapshot().Has(api.Ref{Kind: api.KindMesh, Name: name}) {
		return true, nil
	}
	o, err := a.backend.Kubernetes.Fetch(ctx, api.KindMesh, "", name)
	return o != nil, err
}

// Injection is the configuration with the authorities, addresses and meshes of now.
func (a admitting) Injection() inject.Config {
	c, now := a.values, a.store.Snapshot()
	ca, _ := a.roots.PEM()
	c.CA, c.Meshes = string(ca), []string{}
	for o := range now.OfKind(api.KindMesh) {
		c.Meshes = append(c.Meshes, o.Name)
	}
	if o := world.In(now, api.Ref{Kind: api.KindService, Namespace: a.cfg.Namespace, Name: webhook.ServiceName}); o != nil {
		if s, ok := o.Spec.(*api.Service); ok && !s.Headless() && s.ClusterIP != "" {
			c.XDSFallback = s.ClusterIP
		}
	}
	return c
}

// Written is all that was read.
func (a admitting) Written() *snapshot.Snapshot { return a.store.Snapshot() }

// Model is the newest one.
func (a admitting) Model() *resolve.Model { return a.loop.Current() }
