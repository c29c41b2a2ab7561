package roots_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control/roots"
	"github.com/weftmesh/weft/internal/kubetest"
)

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// shakes reports whether a client that trusts ca takes what is shown.
func shakes(t *testing.T, shown *tls.Config, ca string) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = tls.Server(c, shown).Handshake()
			c.Close()
		}
	}()
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "localhost"})
	if err == nil {
		c.Close()
	}
	return err
}

// TestDirectory: what somebody else keeps is shown, and what takes its place too; what does
// not belong together is not.
func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := roots.NewDirectory(dir, []string{"localhost"}, time.Now, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); d.Run(ctx) }()
	defer func() { stop(); <-ended }()
	if err := d.Waiting(); err == nil || !strings.Contains(err.Error(), "has no tls.crt yet") {
		t.Errorf("an empty directory: %v", err)
	}
	first, second := kubetest.Certificates(t, "localhost"), kubetest.Certificates(t, "localhost")
	if shakes(t, d.TLS(), first["ca.crt"]) == nil {
		t.Error("something is shown that nobody has written")
	}
	if _, err := d.TLSEarly().GetCertificate(nil); err != nil {
		t.Errorf("kubelets are shown nothing: %v", err)
	}
	until := bed{T: t}.until
	_, changed := d.PEM()
	put(t, dir, first)
	<-changed
	if ca, _ := d.PEM(); string(ca) != first["ca.crt"] || d.Waiting() != nil || shakes(t, d.TLS(), first["ca.crt"]) != nil || shakes(t, d.TLSEarly(), first["ca.crt"]) != nil {
		t.Errorf("the first certificate: %v", d.Waiting())
	}
	put(t, dir, map[string]string{"tls.crt": second["tls.crt"]}) // its key comes later
	time.Sleep(3 * time.Second)                                  // they have been read
	if err := shakes(t, d.TLS(), first["ca.crt"]); err != nil {
		t.Errorf("half of a change is shown: %v", err)
	}
	put(t, dir, second)
	until("the second certificate is shown", func() bool { return shakes(t, d.TLS(), second["ca.crt"]) == nil })
	if ca, _ := d.PEM(); string(ca) != second["ca.crt"] {
		t.Error("clients are to trust another authority")
	}
	put(t, dir, map[string]string{"ca.crt": first["ca.crt"]})
	other := roots.NewDirectory(dir, nil, time.Now, slog.New(slog.DiscardHandler))
	if err := other.Waiting(); err == nil || !strings.Contains(err.Error(), "tls.crt of "+dir+" is not signed by ca.crt") {
		t.Errorf("a certificate of another authority: %v", err)
	}
}
