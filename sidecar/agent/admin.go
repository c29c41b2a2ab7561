package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/traffic"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// adminSocket is where Envoy's administration listens in the agent's directory, which nobody
// else may enter: whoever reaches it can end Envoy.
const adminSocket = "admin.sock"

// overSocket asks what listens at the path that a request's context holds.
var overSocket = &http.Client{Transport: &http.Transport{
	DisableKeepAlives: true, // the next Envoy listens at the same path
	DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, _ := ctx.Value(socketPath{}).(string)
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	},
}}

type socketPath struct{}

// request asks the administration of the Envoy that runs. Whoever gets an answer closes it.
func (a *Agent) request(ctx context.Context, method, path string) (*http.Response, error) {
	address := a.state.admin.Load()
	if address == nil {
		return nil, errors.New("envoy is not up yet")
	}
	client, host := http.DefaultClient, *address
	if filepath.IsAbs(host) {
		client, host, ctx = overSocket, "envoy", context.WithValue(ctx, socketPath{}, host)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host+"/"+strings.TrimPrefix(path, "/"), nil)
	if err != nil {
		return nil, fmt.Errorf("ask envoy %s: %w", path, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask envoy %s: %w", path, err)
	}
	return resp, nil
}

// admin asks Envoy's administration, which answers 200 or not at all well.
func (a *Agent) admin(ctx context.Context, method, path string) error {
	_, err := a.ask(ctx, method, path)
	return err
}

// ask is admin with the answer.
func (a *Agent) ask(ctx context.Context, method, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	resp, err := a.request(ctx, method, path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("ask envoy %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask envoy %s: %d %s", path, resp.StatusCode, text)
	}
	return text, nil
}

// life is one of each life of Envoy; nil while there is none.
func (a *Agent) life() any {
	if p := a.state.admin.Load(); p != nil {
		return p
	}
	return nil
}

// keepSampling has Envoy write few lines of requests that fail, however many do, and lines of all only
// while somebody watches, until ctx ends.
func (a *Agent) keepSampling(ctx context.Context) {
	look := time.NewTicker(a.intervals.look)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		_ = a.requests.Sampler.Look(ctx, a.life(), func(ctx context.Context, ppm uint32) error { // what fails is tried again
			return a.modify(ctx, bootstrap.ErrorsRuntime, ppm)
		})
		_ = a.tap.look(ctx, a) // likewise
	}
}

// modify sets a key of Envoy's runtime.
func (a *Agent) modify(ctx context.Context, key string, value uint32) error {
	return a.admin(ctx, http.MethodPost, "runtime_modify?"+key+"="+strconv.FormatUint(uint64(value), 10))
}

// tapSwitch has Envoy write lines of all requests, or not.
type tapSwitch struct {
	mu   sync.Mutex
	life any // of Envoy, which begins without
	on   bool
}

// look turns it on where somebody watches, and off where nobody does.
func (s *tapSwitch) look(ctx context.Context, a *Agent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if life := a.life(); life != s.life {
		s.life, s.on = life, false
	}
	wanted := a.requests.Recent.Tapping(time.Now())
	if err := a.headers.Read(a.requests.Recent.Headers()); err != nil {
		return err
	}
	if wanted == s.on || s.life == nil {
		return nil
	}
	ppm := uint32(0)
	if wanted {
		ppm = bootstrap.AllErrors
	}
	if err := a.modify(ctx, bootstrap.TapRuntime, ppm); err != nil {
		return err
	}
	s.on = wanted
	return nil
}

// answerRequests answers a question for requests, for which Envoy is not asked, as JSON.
func (a *Agent) answerRequests(ctx context.Context, q attach.RequestsQuestion) ([]byte, error) {
	answer, err := a.requests.Recent.Answer(q, time.Now())
	if err != nil {
		return nil, err
	}
	if q.Tap != "" {
		if !q.End {
			a.losses.Begin(ctx, a.source(), q.Tap)
		}
		if err := a.tap.look(ctx, a); err != nil {
			return nil, err
		}
		if q.End {
			answer.Lost = a.losses.End(ctx, a.source(), q.Tap)
		}
	}
	return json.Marshal(answer)
}

// figures asks Envoy what it counted.
func (a *Agent) figures(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, err := a.request(ctx, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("ask envoy for statistics: %s", resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

// newMeter counts for one stream what Envoy says.
func (a *Agent) newMeter() *traffic.Meter {
	return traffic.New(*a.source())
}

func (a *Agent) source() *traffic.MeterSource {
	return &traffic.MeterSource{Life: a.life, Received: a.lines.Received, Log: &a.requests, Get: a.figures}
}
