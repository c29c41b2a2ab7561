// Package kube reads documents from the API server of a Kubernetes cluster and follows
// what happens to them (spec/kubernetes.md 6.1).
//
// It promises that nothing is served before every kind that is installed has been read;
// that a document that is not sound stops no other, and of one that was sound before the
// last sound version stays; that a kind is emptied only when its definition is gone; and
// that what was served last stays while the API server is away. It never writes: documents
// are written through the Kubernetes API.
package kube

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

// Config says which cluster is read, and how.
type Config struct {
	// REST is how the API server is reached.
	REST *rest.Config
	// Catalog has the kinds of documents that there are.
	Catalog *api.Catalog
	// Default stands while the cluster has no object of its kind: mesh default.
	Default *api.Object
	// Namespaces are those whose documents are read; none is all.
	Namespaces []string
	// Secrets are the namespaces whose Secrets are read; none is none.
	Secrets []string
	// MeshSecrets is the namespace whose Secrets of type api.SecretMesh are read, in which
	// control planes keep what authorities are made of; empty for none. Others of it are not,
	// unless Secrets names it too.
	MeshSecrets string
	// Moved is told of each publication what it adds to the position of the store, from one
	// goroutine and before anybody sees the publication; nil tells nobody.
	Moved func(store.Step)
	// Reports keeps the status of policies and routes, for who writes them.
	Reports bool
	Log     *slog.Logger
}

// Store is a store.Store whose only source is an API server. Its revisions count the
// publications of this process.
type Store struct {
	*memory.Store
	cfg      Config
	catalog  *api.Catalog
	dynamic  dynamic.Interface
	ask      dynamic.Interface // of Fetch: who has it ask much delays no list
	metadata metadata.Interface
	discover discovery
	stop     context.CancelFunc
	running  sync.WaitGroup
	synced   chan struct{} // closed when everything was published once
	wake     chan struct{} // has a token while changed is not empty, or a feed has synced
	look     chan struct{} // has a token when definitions have changed

	mu       sync.Mutex
	feeds    map[*feed]bool
	serves   map[string]Served        // by kind
	reports  map[reportKey]Report     // of kinds whose status weft writes
	refusals uint64                   // how often what is wrong became other
	defined  map[string]definition    // by the names of definitions, as they are in the cluster
	listed   bool                     // defined is whole
	settled  bool                     // the feeds of all definitions have begun once
	began    bool                     // everything was read once
	unserved map[string]*unserved     // definitions whose kinds cannot be read
	changed  map[api.Ref]*api.Object  // since the last publication; nil for what is gone
	moved    map[*feed]bool           // of which something of that is
	told     map[*feed]uint64         // where the feeds were at the last publication
	followed map[*feed]bool           // the feeds at the last publication
	kinds    map[string]int           // sound objects by kind
	away     map[*connection]*absence // who hears nothing of the API server
}

var _ store.BackingStore = (*Store)(nil)

// Open begins to read the cluster, and returns at once: what there is waits for Synced.
// An API server that does not answer is asked until Close.
func Open(cfg Config) (*Store, error) {
	cfg.Namespaces, cfg.Secrets = once(cfg.Namespaces), once(cfg.Secrets)
	s := &Store{Store: memory.New(snapshot.New(0), nil, time.Now), cfg: cfg, catalog: cfg.Catalog.Validated(), synced: make(chan struct{}),
		wake: make(chan struct{}, 1), look: make(chan struct{}, 1), feeds: map[*feed]bool{}, serves: map[string]Served{}, reports: map[reportKey]Report{}, defined: map[string]definition{},
		unserved: map[string]*unserved{}, changed: map[api.Ref]*api.Object{}, moved: map[*feed]bool{}, told: map[*feed]uint64{}, kinds: map[string]int{}, away: map[*connection]*absence{}}
	var err error
	if s.dynamic, err = dynamic.NewForConfig(cfg.REST); err != nil {
		return nil, err
	}
	asking := rest.CopyConfig(cfg.REST)
	asking.QPS, asking.Burst, asking.RateLimiter = fetchesPerSecond, fetchesBurst, nil
	if s.ask, err = dynamic.NewForConfig(asking); err != nil {
		return nil, err
	}
	if s.metadata, err = metadata.NewForConfig(cfg.REST); err != nil {
		return nil, err
	}
	if s.discover, err = newDiscovery(cfg.REST); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(quiet(context.Background()))
	s.stop = stop
	s.running.Go(func() { s.follow(ctx) })
	s.running.Go(func() { s.install(ctx) })
	s.running.Go(func() { s.publish(ctx) })
	return s, nil
}

// once are names, each once.
func once(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// Synced waits until everything that is installed was read and published.
func (s *Store) Synced(ctx context.Context) error {
	select {
	case <-s.synced:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Apply refuses to write: the API server is the only source. A plan that has nothing to
// write holds.
func (s *Store) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	now := s.Snapshot()
	writes, err := plan(now)
	if err != nil {
		return nil, nil, err
	}
	if len(writes) > 0 {
		return nil, nil, store.ErrKubernetes
	}
	return now, nil, nil
}

// ReadOnly is store.ErrKubernetes.
func (s *Store) ReadOnly() error { return store.ErrKubernetes }

// Health is nil: what is served stays right without the API server, and readiness with
// it (spec/kubernetes.md 6.1). Stale tells how old it is.
func (s *Store) Health() error { return nil }

// Close ends the reading and the watches.
func (s *Store) Close() error {
	s.stop()
	s.running.Wait()
	return s.Store.Close()
}

// errWaiting is why nothing is served yet.
var errWaiting = errors.New("the documents of the cluster are not read yet")
