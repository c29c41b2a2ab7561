package control

import (
	"context"
	"errors"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/leader"
	"github.com/weftmesh/weft/control/mirror"
	"github.com/weftmesh/weft/control/owned"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/services"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/control/stores"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// leadCluster adds what the leader writes to the objects of a cluster, which no other store has: nothing where it
// may write nothing.
func (p *Plane) leadCluster(k *stores.Kubernetes) error {
	if k.Writer == nil {
		return nil
	}
	p.writers.Add("meshes", leader.NewDefaults(leader.DefaultsConfig{Store: p.store, Writer: k.Writer, Leader: p.shared.Leader, FirstMesh: p.cfg.FirstMesh(), SkipPolicies: p.cfg.SkipDefaultPolicies, Namespace: p.cfg.Namespace, Log: p.log}).Run)
	p.writers.Add("authorities", k.Plans.Run)
	catalog := p.settings.Catalog().InZone(p.settings.InZone())
	p.writers.Add("services", services.New(services.Config{Store: k.Store, Catalog: catalog, Writer: k.Writer, Model: reported{p}.Model, Status: reported{p}.service, Log: p.log}).Run)
	p.writers.Add("statuses", status.New(status.Config{Plane: reported{p}, Store: k.Store, Catalog: p.settings.Catalog(), Writer: k.Writer, Count: p.observe.Statuses(), Log: p.log}).Run)
	if p.cfg.WriteDataplanes {
		m := &mirror.Maker{Store: k.Store, Catalog: catalog, Model: reported{p}.Model}
		p.writers.Add("dataplanes", owned.New(owned.Config{Kind: api.KindDataplane, Store: k.Store, Writer: k.Writer, Maker: m, Resolved: m.Resolved, Log: p.log}).Run)
	}
	if p.roots == nil || p.cfg.Webhooks == "" {
		return nil
	}
	trust, err := webhook.NewTrust(k.REST, k.Fenced, p.roots.PEM, p.log)
	if err != nil {
		return err
	}
	p.writers.Add("webhooks", func(ctx context.Context) error { trust.Keep(ctx); return nil })
	return p.findUninjected(k)
}

// follow resolves what there is as soon as the store has read it, and then what changes.
// It ends with ctx.
func (p *Plane) follow(ctx context.Context) error {
	if !p.resolved.Load() {
		if err := p.backend.Synced(ctx); err != nil {
			return nil // ctx has ended
		}
		if p.peers != nil { // else its first configuration would know of no certificate
			p.peers.Settle(ctx)
		}
		p.begin()
	}
	return p.loop.Run(ctx, p.watch)
}

// waiting is what is not read yet of what the store and its replicas have; nil when all is.
func (p *Plane) waiting() error {
	if p.secrets == nil {
		return p.backend.Waiting()
	}
	return errors.Join(p.backend.Waiting(), p.roots.Waiting(), p.sharedKeys.Waiting())
}

// unread are the paths of the API that answer before the documents are read: they say
// nothing of documents.
var unread = map[string]bool{"/": true, "/healthz": true, "/readyz": true, "/metrics": true}

// onceRead answers 503 until the documents are read, so that an empty list never stands
// for one that is not known.
func (p *Plane) onceRead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !unread[r.URL.Path] && p.backend.Waiting() != nil {
			httpapi.Refuse(w, reconcile.ErrUnread)
			return
		}
		next.ServeHTTP(w, r)
	})
}
