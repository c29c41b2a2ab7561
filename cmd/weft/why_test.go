//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
)

// TestWhyARequestGetsItsRetries: in random worlds, why a request gets so many retries is
// answered by one call of the API and by one command, and with REQUIRE_BROWSER by three clicks,
// with the same answer; and it is what the real Envoy of the caller holds.
func TestWhyARequestGetsItsRetries(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	all, browsers := map[string]int{}, os.Getenv("REQUIRE_BROWSER") != ""
	t.Cleanup(func() {
		for _, what := range []string{"without", "http.", "grpc.", "over others", "override", "of a route", "shown"} {
			if all[what] < 20 && (what == "shown") == browsers {
				t.Errorf("the worlds are too poor: %q has %d of %v", what, all[what], all)
			}
		}
	})
	seeds := 6
	if browsers {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			a := asking(t, browsers)
			for _, changes := range retried.Example(seed) {
				a.changed(changes)
				a.holds()
			}
			mu.Lock()
			defer mu.Unlock()
			for what, n := range a.seen {
				all[what] += n
			}
		})
	}
}

const ofCaller = "/meshes/default/dataplanes/web-1"

// asked is a control plane of random worlds with a real Envoy for web-1, whom one asks in each
// of the ways.
type asked struct {
	t      *testing.T
	server string
	ports  *strings.Replacer
	join   func()   // starts the sidecar of web-1
	pages  *browser // nil for none
	seen   map[string]int
}

func asking(t *testing.T, browsers bool) *asked {
	t.Helper()
	port := func() string { return fmt.Sprint(envoytest.Port(t)) }
	at, xds := "127.0.0.1:"+port(), "127.0.0.1:"+port()
	serving(t, at, xds)
	a := &asked{t: t, server: "http://" + at, seen: map[string]int{}, ports: strings.NewReplacer("20000", port(), "20001", port(), "20002", port(), "20003", port())}
	a.weft("", "status", "--wait", "1m")
	a.weft(`{type: Mesh, name: default, meshServices: {mode: Everywhere}}`, "apply", "-f", "-")
	a.join = func() {
		a.join = func() {}
		joins(t, xds, "web-1")
	}
	if browsers {
		a.pages = browsing(t, a.server)
	}
	return a
}

// weft runs a command, which must do what it is asked, and is what that prints.
func (a *asked) weft(input string, args ...string) string {
	a.t.Helper()
	var out, errs bytes.Buffer
	if status := run(a.t.Context(), append(args, "--server", a.server), strings.NewReader(input), &out, &errs); status != cli.StatusDone {
		a.t.Fatalf("weft %v: %d\n%s%s\n%s", args, status, &out, &errs, input)
	}
	return out.String()
}

// call makes one request to the API.
func (a *asked) call(method, path, body string) string {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.server+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		a.t.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, text, err)
	}
	return string(text)
}

// changed is the next world, when the Envoy has confirmed it.
func (a *asked) changed(changes []snapshot.Change) {
	a.t.Helper()
	documents, gone := written(a.t, changes)
	a.weft(a.ports.Replace(documents), "apply", "-f", "-")
	for _, path := range gone {
		a.call(http.MethodDelete, path, "")
	}
	a.join()
	a.weft("", "status", "--wait", "1m", "--expect", "1")
}

// read is an answer as a value.
func read[T any](a *asked, text string) (v T) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		a.t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// same fails where two answers differ.
func same[T any](a *asked, what, got, want string) {
	a.t.Helper()
	if diff := cmp.Diff(read[T](a, want), read[T](a, got)); diff != "" {
		a.t.Fatalf("%s: the command (+) says other than the API (-):\n%s", what, diff)
	}
}

// holds asks about requests to all that web-1 calls.
func (a *asked) holds() {
	a.t.Helper()
	envoy := routesOf(a, a.call(http.MethodGet, ofCaller+"/xds", ""))
	for _, o := range read[explain.Explanation](a, a.call(http.MethodGet, ofCaller+"/_explain", "")).Outbounds {
		said := a.call(http.MethodGet, ofCaller+"/_explain?to="+o.ID, "")
		same[any](a, o.ID, a.weft("", "explain", "dataplane", "web-1", "--to", o.ID, "-o", "json"), said)
		explained := read[explain.Explanation](a, said)
		routes := explained.Outbounds[0].Routes
		shown := map[string]bool{}
		for _, path := range []string{"/", "/v1", "/v1/x", "/v2", "/%C3%A9", "/other"} {
			if o.Protocol == api.TCP {
				break
			}
			for _, b := range a.asks(fmt.Sprintf("http://%s:%d%s", o.Address, o.Port, path)) {
				i := slices.IndexFunc(routes, func(r explain.Route) bool { return b.Route != nil && r.Key == b.Route.Key })
				if i < 0 {
					a.t.Fatalf("a request for %s of %s takes a route that is not explained: %+v", path, o.ID, b.Route)
				}
				r, why := &routes[i], b.Policies["MeshRetry"]
				if diff := cmp.Diff(why, r.Policies["MeshRetry"]); diff != "" {
					a.t.Fatalf("%s of %s: simulated (-) and explained (+):\n%s", path, o.ID, diff)
				}
				a.enforced(o.ID+" "+path, why, blockOf(o.Protocol), envoy[o.ID+" "+r.Name])
				if a.pages != nil && !shown[r.Key] {
					shown[r.Key] = true
					a.seen["shown"] += a.pages.shows(a.t, &explained, r)
				}
			}
		}
	}
}

// blockOf is that of a MeshRetry which is about a protocol.
func blockOf(p api.Protocol) string {
	if p == api.GRPC {
		return "grpc."
	}
	return "http."
}

// asks is what becomes of a request, by the API and by the command; and what that
// prints for people says of retries what the answer says.
func (a *asked) asks(url string) []sim.Branch {
	a.t.Helper()
	question, _ := json.Marshal(object{"method": "GET", "url": url})
	said := a.call(http.MethodPost, ofCaller+"/_simulate", string(question))
	command := []string{"simulate", "--from", "web-1", "GET", url}
	same[any](a, url, a.weft("", append(command, "-o", "json")...), said)
	v, text := read[sim.Verdict](a, said), a.weft("", command...)
	for _, b := range v.Branches {
		for field, said := range b.Policies["MeshRetry"].Why {
			if want := inText(field, said); !slices.Contains(b.Policies["MeshRetry"].Idle, field) && !want.MatchString(strings.Join(strings.Fields(text), " ")) {
				a.t.Fatalf("%s: the command does not print %s, but\n%s", url, want, text)
			}
		}
	}
	return v.Branches
}

// inText is how a command prints a field: the value that holds with who set it, and those
// that do not, the strongest first, without what is built in.
func inText(field string, said []sim.Opinion) *regexp.Regexp {
	out := ""
	for i := len(said) - 1; i >= 0; i-- {
		by, sign := " built-in default", " ✗ "
		if said[i].Layer != "default" {
			by = " " + said[i].Origin.Kind + "/" + said[i].Origin.Name + " "
		} else if i < len(said)-1 {
			break
		}
		switch {
		case i == len(said)-1:
			sign = field + " = "
		case said[i].Holds: // lost, and what won comes to it all the same
			sign = " "
		}
		out += regexp.QuoteMeta(sign+valueText(said[i].Value)+by) + "[^✗=]*"
	}
	return regexp.MustCompile(out)
}

// valueText is a value as people write it.
func valueText(v any) string {
	text, _ := json.Marshal(v)
	return strings.Trim(string(text), `"`)
}
