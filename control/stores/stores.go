// Package stores opens the store that a configuration names, with all that a control plane needs of it beside
// documents. Nothing else of control knows which stores there are (layers_test.go): it asks the small
// interfaces of package store, and Users.
package stores

import (
	"context"
	"log/slog"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/control/config"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/roots"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/bolt"
	"github.com/weftmesh/weft/store/memory"
	"github.com/weftmesh/weft/xds/server/authn"
)

// Config is what a store is opened by. Its functions are called once the control plane is whole.
type Config struct {
	config.Config
	Settings world.Settings
	Name     string // of this replica
	Log      *slog.Logger

	Moved      func(store.Step)               // is told of each publication how far it is known; nil tells nobody
	Led        func()                         // is told when this replica leads (store.LeaderWriter)
	Fault      func() error                   // is what is wrong with the authority of replicas, which the leader says where operators look
	Came, Left func(dp api.Ref, token string) // are told of the dataplanes that Users know, and their tokens
}

// Backend is the store of a control plane. What is nil its configuration does without.
type Backend struct {
	store.BackingStore
	Name       string              // of where documents come from, for people
	Namespace  string              // in which the control plane's own documents stand; empty where documents have none
	History    store.History       // nil: it keeps no revisions
	Shared     *store.Coordination // nil: one control plane at a time serves it
	Peers      peers.Config        // with FollowReplicas: how this replica is called, and how replicas know each other
	Authority  roots.Authority     // that replicas share; nil: theirs is in the data directory, or nobody is shown it
	Users      Users               // nil: it knows nobody, so that all need tokens of weft
	Kubernetes *Kubernetes         // nil: documents are no objects of a cluster
}

// Users are whom a store knows beside those who have tokens of weft.
type Users interface {
	// WhoIs is whose token it is: one for weft's API, or where anyAudience is set one for the store's own. It is
	// identity.ErrNobody where the token is not good.
	WhoIs(ctx context.Context, token string, anyAudience bool) (rights.ClusterUser, error)
	// IsPod reports whether a dataplane, by its name or as its sidecar calls it, is one whose sidecar the store knows.
	IsPod(dp api.Ref) bool
	// Dataplanes lets in the sidecars that the store knows, and by keys those of dataplanes that are none of its pods.
	Dataplanes(keys auth.DataplaneKeys, isPod func(api.Ref) bool) authn.Authenticator
	// Follow keeps it known by the documents who they are until ctx ends or the store is closed.
	Follow(ctx context.Context, documents store.Store)
}

// Open opens the store of a configuration that is valid.
func Open(c Config) (*Backend, error) {
	switch c.Store {
	case "kube":
		return openKubernetes(c)
	case "bolt":
		seal := storage.NewSealer(c.Settings.Catalog(), c.SecretsKey())
		s, err := bolt.Open(bolt.Config{Dir: c.DataDir, Decode: storage.DecodeStored(c.Settings.Catalog()), Encode: seal.Encode, Open: seal.Open, Now: time.Now, History: c.History})
		if err != nil {
			return nil, err
		}
		return &Backend{BackingStore: s, History: s}, nil
	case "file":
		return &Backend{BackingStore: directory{memory.New(snapshot.New(0), nil, time.Now)}}, nil
	}
	s := memory.New(snapshot.New(0), nil, time.Now).Remember(min(c.History, storage.MemoryHistory))
	return &Backend{BackingStore: s, History: s}, nil
}

// directory is what the documents of --dir are put into where users write files alone.
type directory struct{ *memory.Store }

// ReadOnly is store.ErrDirectory.
func (directory) ReadOnly() error { return store.ErrDirectory }

// Rekey seals the Secrets of the store in a data directory with a new key, and says how many there
// are (`weft store rekey`). No control plane may run.
func Rekey(c config.Config) (int, error) {
	settings, err := c.Settings()
	if err != nil {
		return 0, err
	}
	return storage.Rekey(settings.Catalog(), c.SecretsKey(), func(kind string, reseal func(api.Ref, string, []byte) ([]byte, error)) (int, error) {
		return bolt.Rewrite(c.DataDir, kind, reseal)
	})
}
