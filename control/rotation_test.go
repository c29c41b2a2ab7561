package control_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/xds/server/authority"
)

const secretOfRoots = "/api/v1/namespaces/weft-system/secrets/weft-ca"

// TestAPIServerRotation (spec/threats.md T8, F18): while 100 pods a second are
// admitted, a root joins, signs and is left alone, and none is refused.
func TestAPIServerRotation(t *testing.T) {
	t.Parallel()
	var slow atomic.Int64 // by how much the control plane's clock is
	slow.Store(int64(25 * time.Hour))
	now := func() time.Time { return time.Now().Add(-time.Duration(slow.Load())) }
	a := admitting(t, func(c *control.Config) { c.Now = now })
	next, err := a.bundle().Rotated(now())
	if err != nil {
		t.Fatal(err)
	}
	storm, stop := context.WithCancel(t.Context())
	defer stop()
	var admitted atomic.Int64
	running, storming := errgroup.WithContext(storm)
	for range 4 {
		running.Go(func() error { return a.storm(storming, 40*time.Millisecond, &admitted) })
	}
	some := func() {
		from := admitted.Load()
		eventually(t, "pods are admitted", func() bool { return admitted.Load() > from+100 || storming.Err() != nil })
	}
	some()
	a.put(next.Data())
	eventually(t, "the hooks trust both roots", func() bool { return a.trusted() == string(next.PEM()) })
	old := a.shown()
	slow.Store(0) // a day later
	if a.shown() == old {
		t.Error("the new root does not sign")
	}
	some()
	a.put(lastOf(next.Data()))
	last, err := authority.ParseBundle(lastOf(next.Data()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hooks trust the new root alone", func() bool { return a.trusted() == string(last.PEM()) })
	some()
	stop()
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d pods were admitted", admitted.Load())
}

// TestAPIServerRotationOfTwoReplicas: while a root joins, signs and is left alone, both replicas
// always show a certificate that the hooks trust, whichever of them made the authority.
func TestAPIServerRotationOfTwoReplicas(t *testing.T) {
	t.Parallel()
	var slow atomic.Int64
	slow.Store(int64(25 * time.Hour))
	now := func() time.Time { return time.Now().Add(-time.Duration(slow.Load())) }
	a := admitting(t, func(c *control.Config) { c.Now = now })
	cfg := clustered(t, a.URL, a.Cluster)
	cfg.Namespace, cfg.Replica, cfg.Webhooks, cfg.Now = "weft-system", "b", "127.0.0.1:0", now
	both := []*admitted{a, {T: t, Cluster: a.Cluster, cfg: cfg, plane: start(t, cfg)}}
	eventually(t, "the second replica knows the authority", func() bool { return both[1].shown() == a.shown() })
	first, err := a.bundle().Rotated(now())
	if err != nil {
		t.Fatal(err)
	}
	last, err := authority.ParseBundle(lastOf(first.Data()))
	if err != nil {
		t.Fatal(err)
	}
	trusted := func() {
		t.Helper()
		for ca := range a.bundles() {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM([]byte(ca))
			for i, r := range both {
				c, err := tls.Dial("tcp", r.plane.Webhooks(), &tls.Config{RootCAs: pool, Time: now})
				if err != nil {
					t.Fatalf("replica %d is not trusted: %v", i, err)
				}
				c.Close()
			}
		}
	}
	until := func(what string, is func() bool) {
		t.Helper()
		eventually(t, what, func() bool { trusted(); return is() })
	}
	trusted()
	a.put(first.Data())
	until("the hooks trust both roots", func() bool { return a.trusted() == string(first.PEM()) })
	old := a.shown()
	until("both replicas have read them", func() bool {
		for _, r := range both {
			if ca, _ := r.plane.Authority(); string(ca) != string(first.PEM()) {
				return false
			}
		}
		return true
	})
	slow.Store(0) // a day later
	until("both sign by the new root", func() bool { return a.shown() != old && both[1].shown() == a.shown() })
	a.put(last.Data())
	until("the hooks trust the new root alone", func() bool { return a.trusted() == string(last.PEM()) })
	trusted()
}

// storm creates pods at a rhythm, in dry runs, until ctx ends or one is refused.
func (a *admitted) storm(ctx context.Context, every time.Duration, admitted *atomic.Int64) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CA)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	pod := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"storm"},"spec":{"serviceAccountName":"default","containers":[{"name":"app","image":"app"}]}}`)
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		q, err := http.NewRequest(http.MethodPost, a.URL+podsOfOn+"?dryRun=All", bytes.NewReader(pod))
		if err != nil {
			return err
		}
		q.Header.Set("Authorization", "Bearer "+a.Token)
		q.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(q)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusCreated || !bytes.Contains(text, []byte("weft-sidecar")) {
			return fmt.Errorf("a pod: %s %.500s %v", resp.Status, text, err)
		}
		admitted.Add(1)
	}
}

// bundle is what the Secret of the authority holds.
func (a *admitted) bundle() *authority.Bundle {
	a.Helper()
	_, secret := a.Send(a, http.MethodGet, secretOfRoots, nil)
	data := map[string][]byte{}
	for name, v := range at(secret, "data").(map[string]any) {
		data[name], _ = base64.StdEncoding.DecodeString(v.(string))
	}
	b, err := authority.ParseBundle(data)
	if err != nil {
		a.Fatal(err)
	}
	return b
}

// put writes the Secret of the authority.
func (a *admitted) put(data map[string][]byte) {
	a.Helper()
	if status, got := a.Send(a, http.MethodPut, secretOfRoots, map[string]any{"metadata": map[string]any{"name": "weft-ca"}, "data": data}); status != http.StatusOK {
		a.Fatalf("%d %v", status, got["message"])
	}
}

// lastOf is the newest root alone.
func lastOf(data map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for name, text := range data {
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			out[name] = pem.EncodeToMemory(block)
		}
	}
	return out
}

// trusted is the authority that all hooks trust; empty where they differ.
func (a *admitted) trusted() string {
	a.Helper()
	all := a.bundles()
	for ca := range all {
		if len(all) == 1 {
			return ca
		}
	}
	return ""
}

// bundles are the authorities that hooks trust.
func (a *admitted) bundles() map[string]bool {
	a.Helper()
	all := map[string]bool{}
	for _, plural := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		_, got := a.Send(a, http.MethodGet, registrations+plural+"/weft", nil)
		text, _ := json.Marshal(got["webhooks"])
		var hooks []struct{ ClientConfig struct{ CABundle []byte } }
		if err := json.Unmarshal(text, &hooks); err != nil {
			a.Fatal(err)
		}
		for _, h := range hooks {
			all[string(h.ClientConfig.CABundle)] = true
		}
	}
	return all
}

// shown is who signed the certificate that the control plane shows the API server.
func (a *admitted) shown() string {
	a.Helper()
	c, err := tls.Dial("tcp", a.plane.Webhooks(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		a.Fatal(err)
	}
	defer c.Close()
	certificates := c.ConnectionState().PeerCertificates
	return string(certificates[len(certificates)-1].Raw)
}
