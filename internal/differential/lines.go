package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	"google.golang.org/grpc"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/accesslog"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// requestID is the header by which lines of a request are found.
const requestID = "X-Request-Id"

// lines is what the callers' Envoy writes of all requests to the agent of its sidecar, as for a tap.
type lines struct {
	socket string

	mu    sync.Mutex
	of    map[string][]*accesslogv3.HTTPAccessLogEntry // by the ID of the request
	wants map[string]lineWant
}

// lineWant is what the line of a request has to say.
type lineWant struct {
	pair   int
	status int
	route  *sim.Route // nil: no route took it
}

// receiveLines listens for lines until the end.
func receiveLines(t testing.TB) (l *lines, end func()) {
	t.Helper()
	l = &lines{socket: envoytest.Socket(t), of: map[string][]*accesslogv3.HTTPAccessLogEntry{}, wants: map[string]lineWant{}}
	at, err := net.Listen("unix", l.socket)
	if err != nil {
		t.Fatal(err)
	}
	r := &accesslog.Receiver{Request: l.take}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- accesslog.Serve(ctx, at, func(g *grpc.Server) { r.Register(g) }) }()
	return l, func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func (l *lines) take(log string, line *accesslogv3.HTTPAccessLogEntry) {
	if log != bootstrap.TapLog {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := line.GetRequest().GetRequestId()
	l.of[id] = append(l.of[id], line)
}

// want takes down what the line of a request that was answered has to say. A verdict of several branches has
// one route.
func (l *lines) want(pair int, v *sim.Verdict, o *Observed) {
	if o.requestID == "" || o.Status == 0 {
		return // nothing to find it by
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wants[o.requestID] = lineWant{pair, o.Status, v.Branches[0].Route}
}

// check waits for the lines of all requests, and puts what is wrong about them into said, by pair. A line may be
// lost, which the sidecar's agent counts: Envoy keeps few that wait. More than a hundredth is too much.
func (l *lines) check(said []string) (checked int) {
	for end := time.Now().Add(20 * time.Second); l.missing() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	lost := l.missing()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, w := range l.wants {
		found := l.of[id]
		switch {
		case said[w.pair] != "":
		case len(found) > 0:
			said[w.pair] = w.differs(found)
			checked++
		case lost > 1+len(l.wants)/100:
			said[w.pair] = fmt.Sprintf("line: there is none, as of %d of %d requests", lost, len(l.wants))
		}
	}
	return checked
}

// missing counts the requests without a line.
func (l *lines) missing() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.wants {
		if len(l.of[id]) == 0 {
			n++
		}
	}
	return n
}

// differs says how lines differ from what the one of a request is to say; clients may choose IDs, which then
// several have.
func (w lineWant) differs(found []*accesslogv3.HTTPAccessLogEntry) (said string) {
	for _, line := range found {
		if said = w.differsFrom(line); said == "" {
			return ""
		}
	}
	return said
}

func (w lineWant) differsFrom(line *accesslogv3.HTTPAccessLogEntry) string {
	if got := int(line.GetResponse().GetResponseCode().GetValue()); got != w.status {
		return fmt.Sprintf("line: status %d, and the client got %d", got, w.status)
	}
	name, by := line.GetCommonProperties().GetRouteName(), line.GetCommonProperties().GetCustomTags()[bootstrap.OriginsTag]
	if w.route == nil {
		return "" // Envoy may still look one up, to dress its own answer
	}
	if name != w.route.Name {
		return fmt.Sprintf("line: route %q, sim %q", name, w.route.Name)
	}
	got, err := rulesIn(by)
	if err != nil {
		return fmt.Sprintf("line: origins %q: %v", by, err)
	}
	// The rules of a route stand weakest first; a line names the strongest, and those whose lists it has too.
	n := len(w.route.Origins)
	if n == 0 {
		return ""
	}
	rules := make([]string, n)
	for i, o := range w.route.Origins {
		rules[i] = ruleText(o.Ref, o.RuleName, string(o.Field))
	}
	if !slices.Contains(got, rules[n-1]) {
		return fmt.Sprintf("line: by %s, sim has rule %s", strings.Join(got, ", "), rules[n-1])
	}
	kind := w.route.Origins[n-1].Kind + "/"
	for _, rule := range got {
		inRule := func(r string) bool { return rule == r || strings.HasPrefix(rule, r+".") } // or a policy that stands in it
		if strings.HasPrefix(rule, kind) && !slices.ContainsFunc(rules, inRule) {
			return fmt.Sprintf("line: by %s, sim has the rules %s alone", rule, strings.Join(rules, ", "))
		}
	}
	return ""
}

// rulesIn are the origins of a line.
func rulesIn(by string) (out []string, err error) {
	var list []struct{ Kind, Mesh, Namespace, Name, RuleName, Field string }
	if by == "" {
		return nil, nil // a route that nobody wrote
	}
	if err := json.Unmarshal([]byte(by), &list); err != nil {
		return nil, err
	}
	for _, o := range list {
		out = append(out, ruleText(api.Ref{Kind: o.Kind, Mesh: o.Mesh, Namespace: o.Namespace, Name: o.Name}, o.RuleName, o.Field))
	}
	return out, nil
}

func ruleText(r api.Ref, rule, field string) string { return fmt.Sprintf("%s %s %s", r, rule, field) }
