package main

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

// outcome is who answers a request, and which cookie the client gets.
type outcome struct{ by, cookie string }

// migration is what each step of an A/B test lets happen to a request, by the cookie
// that it brings (spec/routegroup.md, S8 to S12).
var migration = func() []map[string][]outcome {
	a, b1, b2 := outcome{"service-a", ""}, outcome{"service-b-v1", ""}, outcome{"service-b-v2", ""}
	newA, newB1, newB2 := outcome{"service-a", "A"}, outcome{"service-b-v1", "B"}, outcome{"service-b-v2", "B"}
	return []map[string][]outcome{
		{"": {b1}, "A": {b1}, "B": {b1}, "team-foo": {b1}},
		{"": {b1}, "A": {b1}, "B": {b1}, "team-foo": {a}},
		{"": {newA, newB1}, "A": {a}, "B": {b1}, "team-foo": {newA, newB1}},
		{"": {newA, newB1, newB2}, "A": {a}, "B": {b1, b2}, "team-foo": {newA, newB1, newB2}},
		{"": {newA, newB2}, "A": {a}, "B": {b2}, "team-foo": {newA, newB2}},
	}
}()

// TestMigrationUnderTraffic: the steps of an A/B test are applied one after the other
// while clients call. No request fails; each is answered as one of the steps between
// which it happens says, and nobody is answered as an earlier step says who was answered
// as a later one: a step changes all routes at once.
func TestMigrationUnderTraffic(t *testing.T) {
	t.Parallel()
	e := place(t, "testdata/migration/mesh")
	e.start()
	m := &migrating{t: t, address: e.hostsOf("client")}
	e.weft(e.ask("apply", "-f", "testdata/migration/step0.yaml")...)
	m.settled(e, 0)
	var clients sync.WaitGroup
	for _, cookie := range []string{"", "A", "B", "team-foo"} {
		clients.Go(func() { m.call(cookie, false) })
	}
	for range 4 {
		clients.Go(func() { m.call("", true) })
	}
	for step := 1; step < len(migration); step++ {
		m.whileCalled(50)
		m.phase.Add(1)
		e.weft(e.ask("apply", "-f", fmt.Sprintf("testdata/migration/step%d.yaml", step))...)
		m.settled(e, step)
		m.phase.Add(1)
	}
	m.whileCalled(50)
	m.done.Store(true)
	clients.Wait()
}

// migrating is a migration under way. An even phase is a step, by twice its number; an
// odd one is the way to the next.
type migrating struct {
	t       *testing.T
	address string
	phase   atomic.Int64
	done    atomic.Bool
	rounds  [8]atomic.Int64 // of the clients
	clients atomic.Int64
}

// settled returns when the sidecar has the configuration and its worker has turned to
// something since.
func (m *migrating) settled(e *example, step int) {
	m.t.Helper()
	e.synced()
	if _, err := m.ask(""); err != nil {
		m.t.Errorf("step %d: %v", step, err)
	}
}

// whileCalled returns when every client has called n times more.
func (m *migrating) whileCalled(n int64) {
	for i := range m.rounds {
		for from := m.rounds[i].Load(); m.rounds[i].Load() < from+n && !m.t.Failed(); {
			if _, err := m.ask(""); err != nil {
				m.t.Error(err)
			}
		}
	}
}

// call sends requests until all is over. A client that keeps cookies sends the one that
// it got.
func (m *migrating) call(cookie string, keeps bool) {
	rounds := &m.rounds[m.clients.Add(1)-1]
	at := 0 // the step as which the client was last answered, at least
	for !m.done.Load() && !m.t.Failed() {
		from := int(m.phase.Load()) / 2
		got, err := m.ask(cookie)
		to := int(m.phase.Load()+1) / 2
		for at = max(at, from); err == nil && at <= to && !slices.Contains(migration[at][cookie], got); at++ {
		}
		if err != nil || at > to {
			m.t.Errorf("with cookie %q: %+v, %v between steps %d and %d", cookie, got, err, from, to)
			return
		}
		if keeps && got.cookie != "" {
			cookie = got.cookie
		}
		rounds.Add(1)
	}
}

func (m *migrating) ask(cookie string) (outcome, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+m.address+"/", nil)
	if err != nil {
		return outcome{}, err
	}
	req.Host = "api.example.org"
	if cookie != "" {
		req.AddCookie(&http.Cookie{Name: "canary", Value: cookie})
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return outcome{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return outcome{}, fmt.Errorf("status %d", resp.StatusCode)
	}
	got := outcome{by: resp.Header.Get(envoytest.NameHeader)}
	for _, c := range resp.Cookies() {
		if c.Name == "canary" {
			got.cookie = c.Value
		}
	}
	return got, nil
}
