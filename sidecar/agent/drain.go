package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// drain makes Envoy fail its health checks and close its connections gently,
// and waits for the drain time or until Envoy has ended by itself.
func (a *Agent) drain(ended chan error) {
	a.state.draining.Store(true)
	if a.config.DrainTime <= 0 {
		return
	}
	for _, path := range []string{"/healthcheck/fail", "/drain_listeners?graceful&skip_exit"} {
		if err := a.admin(context.Background(), http.MethodPost, path); err != nil {
			a.log.Warn("drain", "error", err)
			return
		}
	}
	a.log.Info("draining", "time", a.config.DrainTime)
	select {
	case err := <-ended:
		ended <- err // for stop, which waits for it too
	case <-time.After(a.config.DrainTime):
	}
}

// admin asks Envoy's administration, which answers 200 or not at all well.
func (a *Agent) admin(ctx context.Context, method, path string) error {
	_, err := a.ask(ctx, method, path)
	return err
}

// ask is admin with the beginning of the answer.
func (a *Agent) ask(ctx context.Context, method, path string) ([]byte, error) {
	address := a.state.admin.Load()
	if address == nil {
		return nil, errors.New("envoy is not up yet")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+*address+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask envoy %s: %w", path, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask envoy %s: %w", path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return nil, fmt.Errorf("ask envoy %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask envoy %s: %d %s", path, resp.StatusCode, text)
	}
	return text, nil
}
