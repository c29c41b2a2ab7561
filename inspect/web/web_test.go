package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/inspect/web/tokens"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

// compiled is a memory store whose model is compiled when asked for.
type compiled struct {
	*memory.Store
	panics bool
}

func (d compiled) Model(context.Context) (*resolve.Model, error) {
	if d.panics {
		panic("planted")
	}
	m, _ := world.Compile(d.Snapshot())
	return m, nil
}

// twoSidecars has one that follows, one that refuses, and none else.
type twoSidecars struct{}

func ref(name string) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
}

func (twoSidecars) Sidecars() []inspect.Sidecar {
	return []inspect.Sidecar{
		{Dataplane: ref("backend-1"), Connected: true, Published: 1, Acked: 1, Refusal: &inspect.Refusal{Type: "lds", Resources: []string{"x"}, Message: "no room"}},
		{Dataplane: ref("frontend-1"), Connected: true, Published: 1, Acked: 1, InSync: true, Since: noon, Client: "envoy", Version: "1.40.0", Agent: "1.1.0"},
	}
}

func (s twoSidecars) Sidecar(dp api.Ref) (inspect.Sidecar, bool) {
	return inspect.Listed(s.Sidecars())(dp)
}

func (twoSidecars) Stream(dp api.Ref) (sidecars.Stream, bool) {
	return sidecars.Stream{Connected: true, Since: noon, Protocol: "delta", Client: "envoy", Version: "1.40.0", Agent: "1.1.0",
		Types: map[string]sidecars.Counters{"cds": {Sent: 2, Acked: 2}}}, dp == ref("frontend-1")
}

// noTokens knows nobody.
type noTokens struct{}

func (noTokens) WhoIs(string) (string, []string, error) { return "", nil, errors.New("nobody") }
func (noTokens) Dataplane(q tokens.DataplaneToken) (tokens.Token, error) {
	text := fmt.Sprint(q.Mesh, " ", q.Name, " ", q.ValidFor)
	if len(q.Tags) > 0 || q.Workload != "" {
		text += fmt.Sprint(" ", q.Tags, " ", q.Workload)
	}
	return tokens.Token{Text: text, ID: "1"}, nil
}
func (noTokens) User(name string, groups []string, d time.Duration) (tokens.Token, error) {
	return tokens.Token{Text: fmt.Sprint(name, " ", groups, " ", d), ID: "2"}, nil
}
func (noTokens) Revoke(ids []string) error {
	if slices.Contains(ids, "bad") {
		return errors.New("bad is not the id of a token")
	}
	return nil
}
func (noTokens) Revoked() []string { return []string{"3"} }

var noon = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func serve(t *testing.T, docs string, panics bool) (*httptest.Server, *events.Bus) {
	t.Helper()
	return serveWith(t, docs, panics, func(*web.Config) {})
}

func serveWith(t *testing.T, docs string, panics bool, adjust func(*web.Config)) (*httptest.Server, *events.Bus) {
	t.Helper()
	objects, found := world.Decode("world.yaml", []byte(docs))
	for _, v := range found {
		if v.Severity == api.Error {
			t.Fatal(v)
		}
	}
	s := memory.New(snapshot.New(0), nil, func() time.Time { return noon }).Remember(100)
	writes := []store.Write{{Put: world.DefaultMesh()}}
	for _, o := range objects {
		writes = append(writes, store.Write{Put: o})
	}
	if _, _, err := s.Apply(t.Context(), store.Writes(writes...)); err != nil {
		t.Fatal(err)
	}
	bus := events.NewBus()
	config := web.Config{
		Catalog: world.Catalog(), Kinds: world.Kinds(), Admission: world.Settings{Zone: "east"}.Admission(admission.Options{SkipDefaults: true, Now: time.Now}), Documents: compiled{s, panics}, History: s, Sidecars: twoSidecars{}, Traffic: newCounts(), Tokens: noTokens{}, Events: bus,
		Problems: func() []*api.Violation { return nil }, Ready: func() error { return errors.New("the documents are not resolved yet") },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("# none\n")) }), TrafficMetrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("# no traffic\n")) }), Zone: api.Zone{Name: "east"}, About: web.About{Hostname: "host", Version: "1.2.3", InstanceID: "id"},
		Public: map[string]string{"store": "memory"}, Log: slog.New(slog.DiscardHandler),
	}
	adjust(&config)
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(doc.Handler(web.New(config), func(err error) { t.Errorf("not as described: %v", err) }))
	t.Cleanup(server.Close)
	t.Cleanup(bus.Close)
	return server, bus
}

func call(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	return send(t, method, url, body, "", "")
}

// send is call with one header more, where it has a name.
func send(t *testing.T, method, url, body, header, value string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		req.Header.Set(header, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// Each file of testdata is a world and requests; a request is the name of a
// part, its answer the part's text.
func TestAnswers(t *testing.T) {
	t.Parallel()
	cases.Files(t, "testdata/*.txtar", func(t *testing.T, _ string, a *txtar.Archive) *txtar.Archive {
		server, _ := serve(t, string(a.Files[0].Data), false)
		for i := range a.Files[1:] {
			part := &a.Files[i+1]
			method, rest, _ := strings.Cut(part.Name, " ")
			path, body, _ := strings.Cut(rest, " ")
			code, text := call(t, method, server.URL+path, body)
			part.Data = fmt.Appendf(nil, "%d\n%s\n", code, indented(strings.ReplaceAll(text, server.URL, "http://server")))
		}
		return a
	})
}

// indented is JSON that people can compare; other text is itself.
func indented(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return strings.TrimSpace(text)
	}
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return text
	}
	return string(out)
}

func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server, _ := serveWith(t, "type: Mesh\nname: default\n", true, func(c *web.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	code, text := call(t, http.MethodGet, server.URL+"/_problems", "")
	if code != http.StatusInternalServerError || !strings.Contains(text, "/std-errors") || strings.Contains(text, "planted") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := call(t, http.MethodGet, server.URL+"/healthz", ""); code != http.StatusOK {
		t.Error("it is dead")
	}
	server.Close() // the log is complete
	if got := log.String(); !strings.Contains(got, "planted") || !strings.Contains(got, "questions.(*Handlers).problems") {
		t.Errorf("the log does not say where it happened: %s", got)
	}
}

// listen is the stream of events of a server that has taken up the listener.
func listen(t *testing.T, server *httptest.Server, bus *events.Bus) io.Reader {
	t.Helper()
	resp, err := http.Get(server.URL + "/_events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	for end := time.Now().Add(time.Minute); !bus.HasListeners(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody listens")
		}
	}
	return resp.Body
}

// Each event says when it happened: when it was published, where nothing else is said.
func TestEventsSayWhen(t *testing.T) {
	t.Parallel()
	server, bus := serve(t, "type: Mesh\nname: default\n", false)
	stream := listen(t, server, bus)
	began := time.Now()
	bus.Publish(events.Event{Type: "change", Time: noon})
	bus.Publish(events.Event{Type: "change"})
	var got []events.Event
	for lines := bufio.NewScanner(stream); len(got) < 2 && lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e events.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != 2 || !got[0].Time.Equal(noon) || got[1].Time.Before(began) || got[1].Time.After(time.Now()) || got[1].Time.Location() != time.UTC {
		t.Errorf("%+v", got)
	}
	if got[0].ID == 0 || got[1].ID != got[0].ID+1 {
		t.Errorf("numbers %d and %d", got[0].ID, got[1].ID)
	}
}

// TestWhatWasDroppedElsewhereIsToldToo: events of another replica that did not come here count
// as missed, for users and not for those who relay.
func TestWhatWasDroppedElsewhereIsToldToo(t *testing.T) {
	t.Parallel()
	server, bus := serve(t, "type: Mesh\nname: default\n", false)
	relayed, missed, stop := bus.Relay()
	defer stop()
	stream := listen(t, server, bus)
	bus.Miss(7)
	bus.Publish(events.Event{Type: "change"})
	bus.Publish(events.Event{Type: "ack", Dataplane: "web-1", Replica: "b"})
	bus.Publish(events.Event{Type: "ack", Dataplane: "web-2"})
	if e := <-relayed; e.Dataplane != "web-2" || missed() != 0 {
		t.Errorf("relayed is %+v", e)
	}
	lines := bufio.NewScanner(stream)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if lines.Text() != `data: {"count":7}` {
		t.Errorf("first comes %s", lines.Text())
	}
}

func TestAListenerWhoIsTooSlowIsToldSo(t *testing.T) {
	t.Parallel()
	server, bus := serve(t, "type: Mesh\nname: default\n", false)
	stream := listen(t, server, bus)
	for range 200_000 { // more than all buffers on the way hold
		bus.Publish(events.Event{Type: "change", Message: strings.Repeat("x", 100)})
	}
	missed := 0
	lines := bufio.NewScanner(stream)
	for lines.Scan() && missed == 0 {
		if text, ok := strings.CutPrefix(lines.Text(), `data: {"count":`); ok {
			if _, err := fmt.Sscanf(text, "%d", &missed); err != nil {
				t.Fatal(err)
			}
		}
		bus.Publish(events.Event{Type: "change"})
	}
	if missed == 0 {
		t.Error("it was not told what it missed")
	}
}
