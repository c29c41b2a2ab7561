package control_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/internal/envoytest"
)

// victimEnv makes the test binary a control plane, which a test kills.
const victimEnv = "WEFT_TEST_VICTIM"

// victimOf is what it is told.
type victimOf struct {
	Dir, API, XDS string
	Ahead         time.Duration // of its clock
	Pprof         string        // address of Go's profiles; empty for none
}

func TestMain(m *testing.M) {
	if file := os.Getenv(fleetEnv); file != "" {
		fmt.Fprintln(os.Stderr, sail(file))
		os.Exit(1)
	}
	text := os.Getenv(victimEnv)
	if text == "" {
		envoytest.Waits(5)
		os.Exit(m.Run())
	}
	var of victimOf
	if err := json.Unmarshal([]byte(text), &of); err != nil {
		panic(err)
	}
	c := control.Default()
	c.Store, c.DataDir, c.API, c.XDS, c.SkipDefaultPolicies, c.AdminAuth, c.DataplaneAuth = "bolt", of.Dir, of.API, of.XDS, true, "token", "token"
	c.RotationSpread, c.HoldPlain, c.Pprof = time.Second, time.Hour, of.Pprof
	c.Now = func() time.Time { return time.Now().Add(of.Ahead) }
	p, err := control.New(context.Background(), c, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err == nil {
		err = p.Serve(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// victim is a control plane in a process of its own, with a store on the disk.
type victim struct {
	t       testing.TB
	of      victimOf
	trusts  *tls.Config
	ahead   atomic.Int64 // of the clock of all
	process *exec.Cmd
	kills   int
}

func newVictim(t testing.TB, change ...func(*victimOf)) *victim {
	t.Helper()
	v := &victim{t: t, of: victimOf{Dir: t.TempDir(), API: envoytest.Address(t), XDS: envoytest.Address(t)}}
	for _, f := range change {
		f(&v.of)
	}
	t.Cleanup(func() {
		if v.process != nil {
			_ = v.process.Process.Kill()
			_ = v.process.Wait()
		}
		if said, err := os.ReadFile(filepath.Join(v.of.Dir, "said")); err == nil && t.Failed() {
			t.Logf("the control plane said at last:\n%s", said[max(0, len(said)-20_000):])
		}
	})
	v.start()
	pool := x509.NewCertPool()
	text, err := os.ReadFile(filepath.Join(v.of.Dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool.AppendCertsFromPEM(text)
	v.trusts = &tls.Config{RootCAs: pool}
	return v
}

// now is the clock of the control plane and of sidecars.
func (v *victim) now() time.Time { return time.Now().Add(time.Duration(v.ahead.Load())) }

// start starts it, and waits until it is ready.
func (v *victim) start() {
	v.t.Helper()
	v.of.Ahead = time.Duration(v.ahead.Load())
	text, err := json.Marshal(v.of)
	if err != nil {
		v.t.Fatal(err)
	}
	said, err := os.OpenFile(filepath.Join(v.of.Dir, "said"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		v.t.Fatal(err)
	}
	defer said.Close()
	v.process = exec.Command(os.Args[0])
	v.process.Env, v.process.Stderr = append(os.Environ(), victimEnv+"="+string(text)), said
	if err := v.process.Start(); err != nil {
		v.t.Fatal(err)
	}
	eventually(v.t, "the control plane is ready", func() bool {
		code, _ := v.asked(http.MethodGet, "/readyz", "")
		return code == http.StatusOK
	})
}

// kill ends it without a word, and has its clock be later when it starts again.
func (v *victim) kill(later time.Duration) {
	v.t.Helper()
	if err := v.process.Process.Kill(); err != nil {
		v.t.Fatal(err)
	}
	_ = v.process.Wait() // says that it was killed
	v.kills++
	v.ahead.Add(int64(later))
}

// asked is one request to its API; 0 where it does not answer.
func (v *victim) asked(method, path, body string) (int, string) {
	q, err := http.NewRequest(method, "http://"+v.of.API+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if token, err := os.ReadFile(filepath.Join(v.of.Dir, auth.AdminTokenFile)); err == nil {
		q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	resp, err := (&http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // what is missing of it is no answer
	return resp.StatusCode, string(text)
}

// want makes a request that succeeds.
func (v *victim) want(method, path, body string) string {
	v.t.Helper()
	code, text := v.asked(method, path, body)
	if code != http.StatusOK {
		v.t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	return text
}

// authority is that of mesh default.
func (v *victim) authority() (out mtls.Authority) {
	v.t.Helper()
	var all mtls.Authorities
	if err := json.Unmarshal([]byte(v.want(http.MethodGet, "/meshes/default/_authorities", "")), &all); err != nil {
		v.t.Fatal(err)
	}
	if len(all.Items) > 0 {
		out = all.Items[0]
	}
	return out
}

// timed is a sidecar with the clock of all.
func (v *victim) timed(name string) *timed {
	v.t.Helper()
	return newTimed(v.t, v.of.XDS, v.trusts, name, v.want(http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"`+name+`","validFor":"8760h"}`), v.now)
}

// watched has all of them meet each other all the time; end says how often they did, and fails
// the test for each time when they could not.
func watched(t *testing.T, sidecars ...*timed) (met *atomic.Int64, end func()) {
	t.Helper()
	met = new(atomic.Int64)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var failures []string
	running.Go(func() {
		for ctx.Err() == nil {
			switch err := meetAll(sidecars...); {
			case errors.Is(err, errNot):
			case err != nil:
				failures = append(failures, err.Error())
			default:
				met.Add(1)
			}
			pause(ctx, 5*time.Millisecond)
		}
	})
	return met, func() {
		t.Helper()
		if cancel(); len(failures) > 0 {
			running.Wait()
			t.Errorf("%d handshakes failed, the first: %s", len(failures), failures[0])
		}
		running.Wait()
	}
}

// TestKilledInARotation (I14): a control plane that is killed at any step of one rotation after
// the other, while its clock goes on, never has a sidecar show a leaf that another one refuses,
// and makes no root but those that were asked for. `make test-killed` kills it 200 times.
func TestKilledInARotation(t *testing.T) {
	t.Parallel()
	killedInRotations(t, 12)
}

func killedInRotations(t *testing.T, kills int) {
	const jump = 8 * time.Hour // leaves are renewed after half a day
	v := newVictim(t)
	v.want(http.MethodPost, "/_apply", calling("web-1", "web", "payments")+calling("pay-1", "payments", "web")+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	web, pay := v.timed("web-1"), v.timed("pay-1")
	eventually(t, "they meet", func() bool { return meetAll(web, pay) == nil })
	met, end := watched(t, web, pay)
	random := rand.New(rand.NewPCG(11, 14))
	roots, phases, asked := map[string]bool{}, map[string]int{}, 0
	for v.kills < kills {
		a := v.authority()
		for _, r := range a.Roots {
			roots[r.Fingerprint] = true
		}
		if a.Phase == "Steady" && v.kills > 0 {
			v.want(http.MethodPost, "/meshes/default/_authorities/rotate", `{"spread":"1s"}`)
			asked++
		}
		// Either at once, or as soon as it goes on, or when nothing more happens.
		until := time.Now().Add([]time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second}[random.IntN(4)])
		for now := a; now.Phase == a.Phase && time.Now().Before(until); now = v.authority() {
			time.Sleep(5 * time.Millisecond)
		}
		phases[v.authority().Phase]++
		later := jump
		if web.left() < jump+time.Hour || pay.left() < jump+time.Hour {
			later = 0 // they have to be certified first
			eventually(t, "they are certified", func() bool { return web.left() > jump+time.Hour && pay.left() > jump+time.Hour })
		}
		before := met.Load()
		v.kill(later)
		eventually(t, "they meet while it is away", func() bool { return met.Load() > before+1 })
		v.start()
	}
	before := met.Load()
	eventually(t, "they meet at last", func() bool { return met.Load() > before+10 })
	if end(); len(roots) > asked+1 {
		t.Errorf("%d roots, and %d rotations were asked for", len(roots), asked)
	}
	for _, phase := range []string{"Steady", "Trusting", "Issuing", "Settling", "Retiring"} {
		if kills >= 100 && phases[phase] == 0 {
			t.Errorf("it was never killed in phase %s", phase)
		}
	}
	t.Logf("killed in %v; %d rotations, %d roots; %d times all met each other; web had %d leaves", phases, asked, len(roots), met.Load(), web.signed.Load())
}

// left is how long its leaf lives.
func (s *timed) left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends.Sub(s.now())
}
