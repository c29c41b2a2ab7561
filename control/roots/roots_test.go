package roots_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/control/roots"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/xds/server/authority"
)

const secret = "/api/v1/namespaces/default/secrets/"

// bed is an API server and those who share its Secret.
type bed struct {
	*testing.T
	*kubetest.Cluster
}

// replica runs until the test ends, or stop is called.
func (b bed) replica() (r *roots.Roots, stop func()) {
	b.Helper()
	r, err := roots.New(roots.Config{Namespace: "default", Hosts: []string{"localhost"}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		REST: &rest.Config{Host: b.URL, BearerToken: b.Token, TLSClientConfig: rest.TLSClientConfig{CAData: b.CA}}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	b.Cleanup(stop)
	return r, stop
}

func (b bed) until(what string, cond func() bool) {
	b.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatal("waited until ", what)
		}
	}
}

func pem(r *roots.Roots) string {
	text, _ := r.PEM()
	return string(text)
}

// put writes the data of the Secret.
func (b bed) put(data map[string][]byte) {
	b.Helper()
	texts := map[string]any{}
	for k, v := range data {
		texts[k] = base64.StdEncoding.EncodeToString(v)
	}
	status, got := b.Send(b, http.MethodPut, secret+roots.SecretName, map[string]any{"metadata": map[string]any{"name": roots.SecretName}, "data": texts})
	if status != http.StatusOK {
		b.Fatalf("%d %v", status, got["message"])
	}
}

// TestAPIServerKeepsOneAuthority: whoever is first makes it, and all have it; it follows what
// is written, comes back where it was deleted, and is not made again where it cannot be read.
func TestAPIServerKeepsOneAuthority(t *testing.T) {
	t.Parallel()
	b := bed{t, kubetest.Start(t)}
	first, stop := b.replica()
	second, _ := b.replica()
	b.until("both know the same", func() bool { return pem(first) != "" && pem(first) == pem(second) })
	was := pem(first)
	if err := first.Waiting(); err != nil {
		t.Error(err)
	}
	stop()

	b.Send(t, http.MethodDelete, secret+roots.SecretName, nil)
	b.until("it is there again", func() bool {
		status, _ := b.Send(t, http.MethodGet, secret+roots.SecretName, nil)
		return status == http.StatusOK
	})
	third, _ := b.replica()
	b.until("it is the same", func() bool { return pem(third) == was })

	another, err := authority.NewBundle(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b.put(another.Data())
	b.until("all follow", func() bool { return pem(second) == string(another.PEM()) && pem(third) == pem(second) })

	broken := another.Data()
	broken[authority.BundleKeys] = []byte("nothing")
	b.put(broken)
	b.until("one that has read another says so", func() bool { return second.Fault() != nil && second.Waiting() == nil })
	late, _ := b.replica() // the cache of the API server, of which it reads, has what the other was told
	b.until("a new one says what is wrong", func() bool {
		err := late.Waiting()
		return err != nil && bytes.Contains([]byte(err.Error()), []byte("restore the Secret"))
	})
	b.until("and has nothing to go by", func() bool { return late.Fault() != nil })
	if pem(second) != string(another.PEM()) || pem(late) != "" {
		t.Error("what cannot be read takes the place of what was read, or is made again")
	}
	b.put(another.Data())
	b.until("restored", func() bool {
		return pem(late) == pem(second) && late.Waiting() == nil && second.Waiting() == nil && second.Fault() == nil && late.Fault() == nil
	})
}

// TestAPIServerRetiresRoots: what is due is done by whoever comes by.
func TestAPIServerRetiresRoots(t *testing.T) {
	t.Parallel()
	b := bed{t, kubetest.Start(t)}
	now := time.Now()
	old, err := authority.NewBundle(now.Add(-7 * 365 * 24 * time.Hour)) // beyond two thirds of its life
	if err != nil {
		t.Fatal(err)
	}
	first, _ := b.replica()
	b.until("there is one", func() bool { return pem(first) != "" })
	b.put(old.Data())
	second, _ := b.replica()
	b.until("a new root joins", func() bool { return pem(first) == pem(second) && len(pem(first)) > len(old.PEM())*3/2 })
	retired, err := old.Rotated(now.Add(-32 * 24 * time.Hour)) // it has signed alone for a month
	if err != nil {
		t.Fatal(err)
	}
	b.put(retired.Data())
	b.until("the old root leaves", func() bool { return bytes.HasSuffix(retired.PEM(), []byte(pem(first))) && pem(first) == pem(second) })
}
