package stores

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/control/identity"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/roots"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/election"
	"github.com/weftmesh/weft/store/kube/writing"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/token"
)

// peersService is the headless Service of the replicas of a control plane (spec/kubernetes.md
// 6.4), and peersPort is how its port is called.
const (
	peersService = webhook.ServiceName + "-peers"
	peersPort    = "grpc-xds"
)

// Kubernetes is what a cluster is beside a store: objects that say how they fare and follow from others, and an
// API server that asks before it stores something.
type Kubernetes struct {
	*kube.Store
	Writer *writing.Writer     // of the leader; nil without a namespace, when nothing is written
	Plans  *writing.PlanWriter // that of the backend's Coordination

	REST, Fenced *rest.Config // how it is reached; nothing arrives by Fenced unless this replica leads
}

// openKubernetes is --store kube: users write through the Kubernetes API, and the store
// provides mesh default while the cluster has no mesh. It waits for nothing.
func openKubernetes(c Config) (b *Backend, err error) {
	at, err := kube.REST(c.Kubeconfig, "weft/"+c.Version)
	if err != nil {
		return nil, err
	}
	s, err := kube.Open(kube.Config{REST: at, Catalog: c.Settings.Catalog(), Default: c.FirstMesh(),
		Namespaces: c.ReadNamespaces(), Secrets: c.SecretNamespaces, MeshSecrets: c.Namespace, Reports: c.Namespace != "", Moved: c.Moved, Log: c.Log})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	k := &Kubernetes{Store: s, REST: at}
	b = &Backend{BackingStore: s, Name: "Kubernetes API server", Namespace: c.Namespace, Shared: new(store.Coordination), Kubernetes: k}
	reviewer, err := identity.NewAPIServer(at, c.Log)
	if err != nil {
		return nil, err
	}
	b.Users = &clusterUsers{identity.NewUsers(reviewer), auth.NewPods(c.Left, c.Came), reviewer}
	if err := k.lead(b, c); err != nil {
		return nil, err
	}
	if c.PeerToken != "" {
		b.Shared.FollowReplicas = kube.Replicas{Store: s, Namespace: c.Namespace, Name: peersService, Port: peersPort}.Follow
		b.Peers = knowing(b, c, reviewer)
	}
	return b, nil
}

// lead has this replica take part in the election, and share the authority of the others, where it is told its
// namespace.
func (k *Kubernetes) lead(b *Backend, c Config) error {
	if c.Namespace == "" {
		c.Log.Warn("without --namespace this control plane writes nothing to the cluster: no status, no mesh default")
	} else {
		says := func() map[string]string {
			text := ""
			if err := c.Fault(); err != nil {
				text = telemetry.Truncate(err.Error())
			}
			return map[string]string{roots.FaultAnnotation: text}
		}
		elector, err := election.New(election.Config{REST: k.REST, Namespace: c.Namespace, Name: issuer.LeaseName, Identity: c.Name, Says: says, Log: c.Log})
		if err != nil {
			return err
		}
		b.Shared.Leader, k.Fenced = elector, elector.Fenced(k.REST)
		if k.Writer, err = writing.New(k.Store, c.Settings.Catalog(), k.Fenced); err != nil {
			return err
		}
	}
	k.Plans = &writing.PlanWriter{Store: k.Store, Namespace: c.Namespace, Led: c.Led, Writer: k.Writer}
	b.Shared.Writer = k.Plans
	if !c.SharesAuthority() {
		return nil
	}
	secret, err := roots.New(roots.Config{REST: k.REST, Namespace: c.Namespace, Hosts: c.Hosts(), Others: map[string]func() ([]byte, error){auth.SharedTokenKey: token.NewKey}, Now: c.Clock(), Log: c.Log})
	if err != nil {
		return err
	}
	b.Shared.Secrets, b.Authority = secret, secret
	if c.Certificates != "" {
		b.Authority = roots.NewDirectory(c.Certificates, c.Hosts(), c.Clock(), c.Log)
	}
	return nil
}

// knowing is how replicas know each other: by tokens of their service account, and by the authority that they share.
func knowing(b *Backend, c Config, reviewer *identity.APIServer) peers.Config {
	return peers.Config{
		Name: c.Name, Authenticator: identity.NewPeers(reviewer, c.Namespace, webhook.ServiceName),
		TLS: func() *tls.Config {
			ca, _ := b.Authority.PEM()
			return peers.TLSOf(webhook.ServiceName+"."+c.Namespace+".svc", ca)
		},
		Token: func() (string, error) {
			text, err := files.Read(c.PeerToken, files.MostSecret)
			return strings.TrimSpace(string(text)), err
		},
	}
}

// clusterUsers are the service accounts of a cluster, its pods among them, and its users.
type clusterUsers struct {
	*identity.Users
	*auth.Pods
	reviewer *identity.APIServer
}

// WhoIs asks the API server, or remembers what it said.
func (u *clusterUsers) WhoIs(ctx context.Context, token string, anyAudience bool) (rights.ClusterUser, error) {
	who, err := u.Users.WhoIs(ctx, token, anyAudience)
	return rights.ClusterUser{Name: who.Name, Groups: who.Groups, May: func(ctx context.Context, a rights.AccessRequest) (bool, error) {
		return u.May(ctx, who, identity.AccessRequest(a))
	}, Cached: func(a rights.AccessRequest) (may, known bool) { return u.Cached(who, identity.AccessRequest(a)) }}, err
}

// Dataplanes has the API server review the tokens of pods.
func (u *clusterUsers) Dataplanes(keys auth.DataplaneKeys, isPod func(api.Ref) bool) authn.Authenticator {
	return auth.NewClusterAuthenticator(keys, identity.NewDataplanes(u.reviewer, u.Pods), isPod)
}
