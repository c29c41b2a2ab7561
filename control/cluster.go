package control

import (
	"context"
	"errors"
	"net/http"

	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/control/identity"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/control/leader"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/roots"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/election"
	"github.com/weftmesh/weft/store/kube/writing"
	"github.com/weftmesh/weft/xds/server/token"
)

// openCluster is --store kube: users write through the Kubernetes API, and the store
// provides mesh default while the cluster has no mesh. It waits for nothing.
func (p *Plane) openCluster() error {
	rest, err := kube.REST(p.cfg.Kubeconfig, "weft/"+p.cfg.Version)
	if err != nil {
		return err
	}
	c := kube.Config{REST: rest, Catalog: p.settings.Catalog(), Default: p.cfg.FirstMesh(),
		Namespaces: p.cfg.ReadNamespaces(), Secrets: p.cfg.SecretNamespaces, MeshSecrets: p.cfg.Namespace, Reports: p.cfg.Namespace != "", Log: p.log}
	if p.name = p.cfg.ReplicaName(); p.cfg.PeerToken != "" {
		p.peers = peers.New()
		c.Moved = p.peers.Moved
	}
	s, err := kube.Open(c)
	if err != nil {
		return err
	}
	p.store, p.own, p.cluster = s, s, s
	p.observe.Stale(func() float64 { return s.Stale().Seconds() })
	if p.reviewer, err = identity.NewAPIServer(rest, p.log); err != nil {
		return err
	}
	p.users = identity.NewUsers(p.reviewer)
	p.ledger = leader.NewAuthorityWriter(leader.AuthorityWriterConfig{Store: s, Namespace: p.cfg.Namespace, Led: func() {
		p.caController.Enqueue()
		p.restored.Note() // what the leader before has not written
	}})
	p.pods = auth.NewPods(p.dismiss, p.receive)
	if p.cfg.Namespace == "" {
		p.log.Warn("without --namespace this control plane writes nothing to the cluster: no status, no mesh default")
		return nil
	}
	p.elector, err = election.New(election.Config{REST: rest, Namespace: p.cfg.Namespace, Name: issuer.LeaseName, Identity: p.name, Says: p.leaderSays, Log: p.log})
	if err != nil {
		return err
	}
	p.observe.Leads(p.leads)
	writer, err := writing.New(s, p.settings.Catalog(), p.elector.Fenced(rest))
	if err != nil {
		return err
	}
	p.ledger.WriteBy(writer)
	p.leadWriting(s, writer)
	if !p.cfg.SharesAuthority() {
		return nil
	}
	if p.shared, err = roots.New(roots.Config{REST: rest, Namespace: p.cfg.Namespace, Hosts: p.cfg.Hosts(), Others: map[string]func() ([]byte, error){auth.SharedTokenKey: token.NewKey}, Now: p.cfg.Clock(), Log: p.log}); err != nil {
		return err
	}
	p.roots = p.shared
	if p.cfg.Certificates != "" {
		p.roots = roots.NewDirectory(p.cfg.Certificates, p.cfg.Hosts(), p.cfg.Clock(), p.log)
	}
	if p.cfg.Webhooks == "" {
		return nil
	}
	trust, err := webhook.NewTrust(rest, p.elector.Fenced(rest), p.roots.PEM, p.log)
	if err != nil {
		return err
	}
	p.writers.Add("webhooks", func(ctx context.Context) error { trust.Keep(ctx); return nil })
	made, err := webhook.NewMade(rest, p.log)
	if err != nil {
		return err
	}
	return p.findUninjected(made, writer)
}

// follow resolves what there is as soon as the store has read it, and then what changes.
// It ends with ctx.
func (p *Plane) follow(ctx context.Context) error {
	if p.cluster != nil {
		if err := p.cluster.Synced(ctx); err != nil {
			return nil // ctx has ended
		}
		if p.peers != nil { // else its first configuration would know of no certificate
			p.peers.Settle(ctx)
		}
		p.begin()
	}
	return p.loop.Run(ctx, p.watch)
}

// waiting is what is not read yet of a cluster; nil when all is, and for other stores.
func (p *Plane) waiting() error {
	if p.cluster == nil {
		return nil
	}
	if p.roots != nil {
		return errors.Join(p.cluster.Waiting(), p.roots.Waiting(), p.sharedKeys.Waiting())
	}
	return p.cluster.Waiting()
}

// unread are the paths of the API that answer before the documents are read: they say
// nothing of documents.
var unread = map[string]bool{"/": true, "/healthz": true, "/readyz": true, "/metrics": true}

// onceRead answers 503 until the documents are read, so that an empty list never stands
// for one that is not known.
func (p *Plane) onceRead(next http.Handler) http.Handler {
	if p.cluster == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !unread[r.URL.Path] && p.cluster.Waiting() != nil {
			httpapi.Refuse(w, reconcile.ErrUnread)
			return
		}
		next.ServeHTTP(w, r)
	})
}
