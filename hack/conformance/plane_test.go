package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/envoytest"
)

// plane is weft's control plane.
type plane struct {
	dir      string // of everything that the test writes
	api, xds string
}

func startPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{dir: envoytest.Dir(t)}
	cfg := control.Default()
	cfg.Store, cfg.DataDir = "memory", filepath.Join(p.dir, "data")
	cfg.API, cfg.XDS, cfg.XDSPlaintext = "127.0.0.1:0", "127.0.0.1:0", true
	cfg.AdminAuth, cfg.DataplaneAuth = "none", "none"
	log, err := os.Create(filepath.Join(p.dir, "weft.log"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	plane, err := control.New(ctx, cfg, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	p.api, p.xds = "http://"+plane.API(), "http://"+plane.XDS()
	done := make(chan error, 1)
	go func() { done <- plane.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the control plane: %v", err)
		}
		log.Close()
	})
	return p
}

// ask sends a request, and returns the answer's body where it is 200.
func (p *plane) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, method, p.api+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return text, err
}

// apply stores a document.
func (p *plane) apply(ctx context.Context, document any) error {
	text, err := json.Marshal([]any{document})
	if err != nil {
		return err
	}
	_, err = p.ask(ctx, http.MethodPost, "/_apply", text)
	return err
}
