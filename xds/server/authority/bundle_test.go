package authority

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestBundleOverYears: whoever has the bundle of a day ago trusts what is shown, for thirty
// years, day by day; roots come and go, and there are never more than two.
func TestBundleOverYears(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b, err := NewBundle(now)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServing(b, func() time.Time { return now }, "weft-control-plane.weft-system.svc", "127.0.0.1")
	yesterday, roots, certificates := b.PEM(), map[string]bool{}, map[string]bool{}
	for range 30 * 365 {
		next, err := b.Next(now)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := next.Next(now); again != next {
			t.Fatalf("%v: it is not done", now)
		}
		if len(next.roots) > 2 {
			t.Fatalf("%v: %d roots", now, len(next.roots))
		}
		b = next
		s.Replace(b)
		shown, err := s.current()
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(shown.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, trusted := range [][]byte{yesterday, b.PEM()} {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(trusted)
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "weft-control-plane.weft-system.svc", CurrentTime: now}); err != nil {
				t.Fatalf("%v: %v", now, err)
			}
		}
		if left := leaf.NotAfter.Sub(now); left < clusterServingLife/3-time.Minute {
			t.Fatalf("%v: the certificate ends in %v", now, left)
		}
		roots[string(b.signer(now).pem)], certificates[string(shown.Certificate[0])] = true, true
		yesterday, now = b.PEM(), now.Add(24*time.Hour)
	}
	if len(roots) < 4 || len(certificates) < 300 {
		t.Errorf("%d roots signed %d certificates", len(roots), len(certificates))
	}
}

// TestBundleIsRead: as it was written; what is damaged is not replaced in silence, and
// not quoted.
func TestBundleIsRead(t *testing.T) {
	t.Parallel()
	now := time.Now()
	first, err := NewBundle(now)
	if err != nil {
		t.Fatal(err)
	}
	b, err := first.Rotated(now)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseBundle(b.Data())
	if err != nil || !bytes.Equal(again.PEM(), b.PEM()) || !bytes.Equal(again.Data()[BundleKeys], b.Data()[BundleKeys]) || !bytes.HasPrefix(b.PEM(), first.PEM()) {
		t.Fatalf("read again: %v", err)
	}
	for name, data := range map[string]map[string][]byte{
		"empty":        {},
		"another key":  {BundleCertificates: first.PEM(), BundleKeys: blocks(b.Data()[BundleKeys])[1]},
		"a key less":   {BundleCertificates: b.PEM(), BundleKeys: first.Data()[BundleKeys]},
		"damaged keys": {BundleCertificates: first.PEM(), BundleKeys: []byte("secret")},
	} {
		if _, err := ParseBundle(data); err == nil || !strings.Contains(err.Error(), "restore the Secret") || strings.Contains(err.Error(), "secret\"") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRotationLosesNoRequest (spec/threats.md T8): roots change under clients that open a connection for
// each request and trust what was true when they began.
func TestRotationLosesNoRequest(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	b, err := NewBundle(now)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServing(b, clock, "127.0.0.1")
	listener, err := tls.Listen("tcp", "127.0.0.1:0", s.TLS())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = server.Serve(listener) }() // until it is closed
	defer server.Close()
	for range 5 {
		if b, err = b.Rotated(clock()); err != nil {
			t.Fatal(err)
		}
		s.Replace(b)
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				pool := x509.NewCertPool()
				pool.AppendCertsFromPEM(b.PEM())
				transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, Time: clock}}
				for range 10 {
					resp, err := (&http.Client{Transport: transport}).Get("https://" + listener.Addr().String())
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
				}
			})
		}
		mu.Lock()
		now = now.Add(trusting) // under way: the new root signs
		mu.Unlock()
		asking.Wait()
	}
}
