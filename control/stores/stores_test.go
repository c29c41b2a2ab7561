// Package stores_test holds every store to what control asks of it.
package stores_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/config"
	"github.com/weftmesh/weft/control/stores"
	"github.com/weftmesh/weft/store"
)

func open(t *testing.T, c config.Config) *stores.Backend {
	t.Helper()
	c.DataDir = t.TempDir()
	settings, err := c.Settings()
	if err != nil {
		t.Fatal(err)
	}
	b, err := stores.Open(stores.Config{Config: c, Settings: settings, Name: "one", Log: slog.New(slog.DiscardHandler), Led: func() {}, Fault: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// TestAlone: a store that one control plane has is read at once, has no replicas and knows nobody.
func TestAlone(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		history, durable bool
		readOnly         error
	}{
		"bolt":   {history: true, durable: true},
		"memory": {history: true},
		"file":   {readOnly: store.ErrDirectory},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config.Default()
			c.Store = name
			b := open(t, c)
			if b.Waiting() != nil || b.Shared != nil || b.Users != nil || b.Authority != nil || b.Kubernetes != nil {
				t.Errorf("%v %+v", b.Waiting(), b)
			}
			if (b.History != nil) != want.history || b.Durable() != want.durable || b.ReadOnly() != want.readOnly {
				t.Errorf("history %v, durable %v, %v", b.History != nil, b.Durable(), b.ReadOnly())
			}
		})
	}
}

// TestCluster: of a cluster the documents are read while it serves, users write elsewhere, and the replica that leads
// writes annotations and secrets that all have.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Store, c.Kubeconfig, c.Namespace, c.APITLS = "kube", start(t), "weft-system", "127.0.0.1:0"
	b := open(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Synced(ctx); err != nil {
		t.Fatal(b.Waiting())
	}
	write := store.Writes(store.Write{Put: c.FirstMesh()})
	if _, _, err := b.Apply(ctx, write); !errors.Is(err, b.ReadOnly()) || !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("users write: %v", err)
	}
	if err := b.Shared.Writer.Apply(ctx, write); !errors.Is(err, store.ErrNotLeading) {
		t.Errorf("it writes without leading: %v", err)
	}
	if b.Waiting() != nil || b.Durable() || b.Users == nil || b.Kubernetes == nil || b.Namespace != c.Namespace {
		t.Errorf("%+v", b)
	}
	go b.Shared.Secrets.Run(ctx)
	led := make(chan error, 1)
	go b.Shared.Leader.Run(ctx, func(term context.Context) {
		go func() { _ = b.Kubernetes.Plans.Run(term) }()
		led <- leads(term, b)
		<-term.Done()
	})
	if err := <-led; err != nil {
		t.Error(err)
	}
}

// leads does what a leader does.
func leads(ctx context.Context, b *stores.Backend) error {
	for !b.Shared.Writer.IsLeading() || b.Shared.Secrets.Waiting() != nil {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), b.Shared.Secrets.Waiting())
		case <-time.After(10 * time.Millisecond):
		}
	}
	none := func(*snapshot.Snapshot) ([]store.Write, error) { return nil, nil }
	if err := errors.Join(b.Shared.Writer.Apply(ctx, none), b.Shared.Leader.SetAnnotation(ctx, "weft.io/said", "once")); err != nil {
		return err
	}
	if memo, err := b.Shared.Leader.Annotation(ctx, "weft.io/said"); memo != "once" || err != nil {
		return errors.Join(errors.New("memo "+memo), err)
	}
	if err := b.Shared.Secrets.Change(ctx, "a", func([]byte) ([]byte, error) { return []byte("b"), nil }); err != nil {
		return err
	}
	for {
		value, changed := b.Shared.Secrets.Value("a")
		if string(value) == "b" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
