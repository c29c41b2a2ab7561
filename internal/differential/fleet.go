package differential

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds/resource"
)

// fleet is two Envoys that hold many worlds: the callers' sidecars, and those of
// all who are called. They get it from weft's xDS server, the one by delta and the
// other by the older form.
type fleet struct {
	room   *room
	worlds []*World
	plane  *plane
	envoys [2]*envoytest.Envoy
	lines  *lines
	silent func() // ends lines

	stopped sync.Once
}

// The names of the two.
const callers, called = "callers", "called"

// newFleet places worlds and starts them, until the test ends.
func newFleet(t testing.TB, r *room, worlds []Source) *fleet {
	t.Helper()
	if len(worlds) > maxWorlds {
		t.Fatalf("%d worlds, at most %d have room", len(worlds), maxWorlds)
	}
	f := &fleet{room: r}
	renderer := settings.Renderer()
	states := map[string]map[string]*resource.State{callers: {}, called: {}}
	for i, source := range worlds {
		w, err := compile(r.place(source, i+1))
		if err != nil {
			t.Fatal(err)
		}
		f.worlds = append(f.worlds, w)
		for r := range w.Dataplanes("default") {
			name := called
			if r.Ref == client {
				name, r = callers, w.Resolved
			} else if len(r.Outbounds) > 0 {
				name = callers
			}
			states[name][place(i, r.Ref.Name)] = proving(t, r, renderer.Render(r))
		}
	}
	f.plane = newPlane(t, joined{callers: envoytest.Join(t, states[callers], true), called: envoytest.Join(t, states[called], false)})
	f.lines, f.silent = receiveLines(t)
	f.envoys = [2]*envoytest.Envoy{f.plane.envoy(callers, false, f.lines.socket), f.plane.envoy(called, true, "")}
	t.Cleanup(f.stop)
	return f
}

// place begins the names of all that the sidecar of a dataplane in the n-th world has.
func place(n int, dataplane string) string { return fmt.Sprintf("%d/%s/", n, dataplane) }

// stop ends it, once.
func (f *fleet) stop() {
	f.stopped.Do(func() {
		for _, e := range f.envoys {
			e.Stop()
		}
		f.plane.stop()
		if f.silent != nil { // stories look at no lines
			f.silent()
		}
		f.worlds, f.plane = nil, nil // the test holds f until it ends
	})
}

// Observed is what became of a request.
type Observed struct {
	*envoytest.Reply
	Route    string // that the caller's sidecar took; empty for none
	Cluster  string // that it chose, by its name in Envoy; empty for none
	Tries    int    // how often it tried; 0 where it did not
	Attempts []envoytest.Call
	id       string
	// requestID is what the sidecar calls it; empty where there was no answer.
	requestID string
}

// ask sends p into a world.
func (f *fleet) ask(w *World, p Pair, id string) (*Observed, error) {
	q := asWire(p, id)
	reply, err := envoytest.Send(w.address(p), q)
	if err != nil {
		return nil, err
	}
	return f.observe(reply, id), nil
}

// observe is what became of the request with that id, beside its reply.
func (f *fleet) observe(reply *envoytest.Reply, id string) *Observed {
	o := &Observed{Reply: reply, id: id}
	o.Attempts, _ = f.room.workloads.Calls(id)
	if reply.Headers != nil {
		o.requestID = reply.Headers.Get(requestID)
		reply.Headers.Del(requestID) // which verdicts know nothing of
		o.Route, o.Cluster = reply.Headers.Get(envoytest.RouteHeader), reply.Headers.Get(envoytest.ClusterHeader)
		o.Tries, _ = strconv.Atoi(reply.Headers.Get(envoytest.TriesHeader)) // none: 0
	}
	return o
}

// sent is p with the headers that asWire adds.
func (p Pair) sent(id string) Pair {
	headers := wire.Headers{envoytest.IDHeader: id}
	maps.Copy(headers, p.Request.Headers)
	if p.Request.Answers != "" {
		headers[envoytest.ScriptHeader] = p.Request.Answers
	}
	if p.Request.Authz != "" {
		headers[envoytest.AnswerHeader] = p.Request.Authz
	}
	if _, own := headers["content-length"]; p.Chunked {
		headers["transfer-encoding"] = "chunked"
	} else if p.Request.Body > 0 && p.Request.Version != "2" && !own {
		headers["content-length"] = strconv.FormatInt(p.Request.Body, 10)
	}
	p.Request.Headers = headers
	return p
}

// asWire is p as a client sends it, with what the workloads are told.
func asWire(p Pair, id string) envoytest.Wire {
	scheme, rest, _ := strings.Cut(p.Request.URL, "://")
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		rest, at = rest+"/", len(rest)
	}
	q := envoytest.Wire{
		Version: cmp.Or(p.Request.Version, "1.1"), Method: p.Request.Method, Authority: rest[:at], Target: rest[at:],
		Body: int(p.Request.Body), Chunked: p.Chunked,
		Lines: []envoytest.Line{{Name: envoytest.IDHeader, Value: id}},
	}
	if p.Request.Answers != "" {
		q.Lines = append(q.Lines, envoytest.Line{Name: envoytest.ScriptHeader, Value: p.Request.Answers})
	}
	if p.Request.Authz != "" {
		q.Lines = append(q.Lines, envoytest.Line{Name: envoytest.AnswerHeader, Value: p.Request.Authz})
	}
	if host, _, _ := strings.Cut(q.Authority, ":"); scheme == "https" {
		q.Secure, q.ServerName = true, host
	}
	if q.Method == http.MethodConnect {
		q.Target = q.Authority
	}
	for _, name := range sortedKeys(p.Request.Headers) {
		for _, v := range p.Request.Headers.Values(name) {
			if name == "host" {
				q.Authority = v
				continue
			}
			q.Lines = append(q.Lines, envoytest.Line{Name: name, Value: v})
		}
	}
	return q
}

// crowded reports whether a copy of f may be too much for who gets it, where f is not: it
// has the headers x-forwarded-for and x-envoy-internal besides.
func crowded(f *wire.Forwarded) bool {
	if f == nil {
		return false
	}
	lines, bytes := 0, len(f.Path)
	for name := range f.Headers {
		for _, v := range f.Headers.Values(name) {
			lines, bytes = lines+1, bytes+len(name)+len(v)+len(": \r\n")
		}
	}
	return lines > 90 || bytes > 59<<10
}

// copies compares how many copies the mirrors got once they had the time to
// arrive: exactly as many as are certain, and no more than are possible. Where callers prove who
// they are a mirror may not let them in, of which verdicts say nothing.
func (f *fleet) copies(n int, v *sim.Verdict, id string) string {
	certain, possible := 0, 0
	for _, x := range v.Branches[0].Mirrors {
		possible++
		if x.Share == 1 && !f.worlds[n].proves() && f.worlds[n].servicePort(x.Name+"-1") != deadPort && !crowded(v.Branches[0].Forwarded) {
			certain++
		}
	}
	count := func() int {
		_, copies := f.room.workloads.Calls(id)
		return len(copies)
	}
	envoytest.Settle(func() bool { return count() >= certain })
	if got := count(); got < certain || got > possible {
		return "mirrors: sim " + strconv.Itoa(certain) + " to " + strconv.Itoa(possible) + " copies, the workloads got " + strconv.Itoa(got)
	}
	return ""
}
