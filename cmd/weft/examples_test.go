package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// TestExamplesRun takes each example through all that its reader may do: it is
// sound without any warning, a control plane stores it, every dataplane's Envoy
// takes its configuration, and the requests that its page simulates go where
// the simulator says.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(root + "/examples/*/README.md")
	if err != nil || len(dirs) != 4 {
		t.Fatalf("%d examples, %v", len(dirs), err)
	}
	for _, page := range dirs {
		dir := filepath.Dir(page)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			e := place(t, dir)
			e.start()
			e.reach()
			for _, q := range questions(t, dir) {
				e.compare(q)
			}
		})
	}
}

// place copies an example with every port replaced by a free one, and each
// servicePort by that of a workload which runs.
// weft runs a command of the program against the example's control plane.
// start runs the control plane and a sidecar for each dataplane, and waits until
// all of them are in sync.
// synced waits until every sidecar has what the control plane has.
// ask is a command with where to send it.
// reach calls everything that anybody calls, also where it is plain TCP.
func (e *example) reach() {
	e.t.Helper()
	calls := 0
	for _, o := range e.moved() {
		for _, out := range o.Spec.(*api.Dataplane).Networking.Outbound {
			calls++
			if out.Hosts != nil {
				continue // to be called by a host: the questions do
			}
			v := sim.Verdict{Request: wire.Request{Method: http.MethodGet, Headers: wire.Headers{}}}
			if out.BackendRef != nil && out.BackendRef.Port != nil && *out.BackendRef.Port == 50051 {
				v.Request.Headers["content-type"] = "application/grpc"
			}
			address := net.JoinHostPort("127.0.0.1", fmt.Sprint(out.Port))
			resp, body := e.send(v, &url.URL{Host: "any", Path: "/reach"}, address, "reach")
			if by := resp.Header.Get(envoytest.NameHeader); e.workloads[by] == nil {
				e.t.Errorf("%s gets %d %s by %q at %s", o.Name, resp.StatusCode, body, by, address)
			}
		}
	}
	if calls == 0 {
		e.t.Error("nobody calls anybody")
	}
}

// moved are the dataplanes with the ports that they have here.
// questions are the simulations of an example's page.
func questions(t *testing.T, dir string) [][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(page)) {
		command, ok := strings.CutPrefix(line, "$ weft simulate ")
		if !ok {
			continue
		}
		command, _, _ = strings.Cut(command, " -f ")
		var words []string
		for i, quoted := range strings.Split(command, "'") {
			if i%2 == 1 {
				words = append(words, quoted)
			} else {
				words = append(words, strings.Fields(quoted)...)
			}
		}
		all = append(all, words)
	}
	if len(all) < 2 {
		t.Fatalf("%s simulates %d requests", dir, len(all))
	}
	return all
}

// compare sends the request that is simulated through the caller's sidecar.
func (e *example) compare(question []string) {
	e.t.Helper()
	var v sim.Verdict
	text := e.weft(e.ask(append([]string{"simulate", "-o", "json"}, question...)...)...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		e.t.Fatal(err)
	}
	name := fmt.Sprintf("%s %s from %s", v.Request.Method, v.Request.URL, v.From)
	address := e.outbound(v)
	u, err := url.Parse(v.Request.URL)
	if err != nil {
		e.t.Fatal(err)
	}
	for n := range 4 {
		id := fmt.Sprint(name, n, strings.Join(question, " "))
		resp, body := e.send(v, u, address, id)
		e.holds(fmt.Sprintf("%s: %d %s", name, resp.StatusCode, body), v, resp, id)
	}
}

func (e *example) send(v sim.Verdict, u *url.URL, address, id string) (*http.Response, string) {
	e.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 20 * time.Second}
	if strings.HasPrefix(v.Request.Headers["content-type"], "application/grpc") {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		client.Transport = transport
		defer transport.CloseIdleConnections()
	}
	req, err := http.NewRequest(v.Request.Method, "http://"+address+u.RequestURI(), nil)
	if err != nil {
		e.t.Fatal(err)
	}
	req.Host = u.Host
	req.Header.Set(envoytest.IDHeader, id)
	for _, k := range slices.Sorted(maps.Keys(v.Request.Headers)) {
		req.Header.Set(k, v.Request.Headers[k])
	}
	resp, err := client.Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return resp, string(body)
}

// outbound is where the caller calls the destination of a verdict.
func (e *example) outbound(v sim.Verdict) string {
	e.t.Helper()
	if v.Destination == nil {
		e.t.Fatalf("%s leads nowhere", v.Request.URL)
	}
	if v.Destination.Kind == api.KindHost {
		return e.hostsOf(v.From)
	}
	for _, o := range e.moved() {
		if o.Name != v.From {
			continue
		}
		for _, out := range o.Spec.(*api.Dataplane).Networking.Outbound {
			if out.Tags[api.TagService] == v.Destination.Name || out.BackendRef != nil && out.BackendRef.Name == v.Destination.Name {
				return net.JoinHostPort("127.0.0.1", fmt.Sprint(out.Port))
			}
		}
	}
	e.t.Fatalf("%s does not call %s", v.From, v.Destination.Name)
	return ""
}

// hostsOf is where a dataplane calls hosts.
// holds compares an answer with the verdict on the request.
func (e *example) holds(what string, v sim.Verdict, resp *http.Response, id string) {
	e.t.Helper()
	b := v.Branches[0]
	switch b.Outcome {
	case sim.Redirect:
		if resp.StatusCode != int(b.Status) || resp.Header.Get("location") != b.Location {
			e.t.Errorf("%s to %q, want %d to %q", what, resp.Header.Get("location"), b.Status, b.Location)
		}
		return
	case sim.Forward:
	default:
		e.t.Fatalf("%s: the example shows %s", what, b.Outcome)
	}
	by := resp.Header.Get(envoytest.NameHeader)
	if resp.StatusCode != http.StatusOK || !slices.ContainsFunc(b.Backends, func(b sim.Backend) bool { return serves(b, by) }) {
		e.t.Errorf("%s by %q, want one of %+v", what, by, b.Backends)
	}
	if b.Forwarded != nil && by != "" {
		for name, value := range b.Forwarded.Headers {
			if got := e.workloads[by].Seen(id)[0].Headers.Get(name); got != value {
				e.t.Errorf("%s: header %s is %q, want %q", what, name, got, value)
			}
		}
	}
	for _, m := range b.Mirrors {
		deadline := time.Now().Add(time.Minute)
		for len(e.workloads[m.Name+"-1"].Seen(id)) == 0 {
			if time.Now().After(deadline) {
				e.t.Fatalf("%s: no copy at %s", what, m.Name)
			}
			time.Sleep(10 * time.Millisecond) // a deadline bounds it
		}
	}
}

// serves reports whether a workload answers for a backend.
func serves(b sim.Backend, workload string) bool {
	return slices.ContainsFunc(b.Inbounds, func(in sim.Inbound) bool { return slices.Contains(in.Names, workload) })
}
