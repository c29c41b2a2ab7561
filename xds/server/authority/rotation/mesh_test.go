package rotation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"
)

// envoy is what is true of a sidecar, as opposed to what is known of it.
type envoy struct {
	name      string
	connected bool
	trusts    []string
	root      string
	ends      time.Time
	inbox     []message // on their way to it
	acks      []uint64  // on their way from it
	sent      uint64    // the generation that was sent last on this connection
}

// message brings trust or a leaf.
type message struct {
	generation uint64
	trusts     []string
	root       string
	ends       time.Time
}

// mesh is a control plane and its sidecars. What it stores survives a crash.
type mesh struct {
	now     time.Time
	stored  []byte
	known   map[string]Sidecar
	unknown time.Time
	envoys  []*envoy
	names   int
}

func newMesh(t *rapid.T) *mesh {
	m := &mesh{now: noon, known: map[string]Sidecar{}}
	m.store(Start("r0", noon))
	for range 3 {
		m.join(t)
	}
	for _, e := range m.envoys {
		m.serve(e, 24*time.Hour)
	}
	return m
}

func (m *mesh) store(s State) {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	m.stored = text
}

func (m *mesh) state() State {
	s, err := parse(m.stored)
	if err != nil {
		panic(err)
	}
	return s
}

func (m *mesh) world() Fleet {
	var all []Sidecar
	for _, e := range m.envoys {
		if c, ok := m.known[e.name]; ok {
			all = append(all, c)
		}
	}
	return Fleet{Sidecars: slices.Values(all), Unknown: m.unknown}
}

// law is that of the package.
func (m *mesh) law(t *rapid.T) {
	for _, x := range m.envoys {
		for _, y := range m.envoys {
			if x.ends.After(m.now) && y.ends.After(m.now) && !slices.Contains(y.trusts, x.root) {
				t.Fatalf("%v, %s: %s has a leaf of %s until %v, and %s, whose leaf ends %v, trusts %v",
					m.now, m.stored, x.name, x.root, x.ends, y.name, y.ends, y.trusts)
			}
		}
	}
}

func (m *mesh) clock(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{1, 60, 600}).Draw(t, "minutes")) * time.Minute)
}

func (m *mesh) any(t *rapid.T) *envoy { return rapid.SampledFrom(m.envoys).Draw(t, "sidecar") }

func (m *mesh) begin(t *rapid.T) {
	root := rapid.SampledFrom([]string{"r0", "r1", "r2"}).Draw(t, "root") // a root may come back
	if s, err := m.state().Begin(root, m.now); err == nil {
		m.store(s)
	}
}

func (m *mesh) abort(*rapid.T) {
	if s, err := m.state().Abort(m.now); err == nil {
		m.store(s)
	}
}

// step may be the last before a crash: nothing but what is stored follows from it.
func (m *mesh) step() bool {
	before := m.state()
	s, _ := before.Step(m.world(), m.now)
	m.store(s)
	return s.Phase != before.Phase
}

func (m *mesh) crash(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "not now") != 0 {
		return
	}
	for _, e := range m.envoys {
		m.disconnect(e)
	}
	m.known, m.unknown = map[string]Sidecar{}, m.state().LastEnd()
}

func (m *mesh) join(*rapid.T) {
	if len(m.envoys) > 5 {
		return
	}
	m.names++
	e := &envoy{name: "s" + strconv.Itoa(m.names)}
	m.envoys = append(m.envoys, e)
	m.connect(e)
}

// connect tells what leaf the sidecar has; what it trusts it has to acknowledge anew.
func (m *mesh) connect(e *envoy) {
	if e.connected {
		return
	}
	c := m.known[e.name]
	c.Name, c.Connected, c.Trust = e.name, true, 0
	if e.ends.After(c.Ends) {
		c.Root, c.Ends = e.root, e.ends
	}
	m.known[e.name] = c
	e.connected, e.sent = true, 0
}

// disconnect loses what is on its way.
func (m *mesh) disconnect(e *envoy) {
	e.connected, e.inbox, e.acks = false, nil, nil
	if c, ok := m.known[e.name]; ok {
		c.Connected = false
		m.known[e.name] = c
	}
}

func (m *mesh) leave(t *rapid.T) {
	if len(m.envoys) < 3 {
		return
	}
	e := m.any(t)
	delete(m.known, e.name)
	m.envoys = slices.DeleteFunc(m.envoys, func(x *envoy) bool { return x == e })
}

func (m *mesh) send(e *envoy) {
	if s := m.state(); e.connected && e.sent != s.Trust {
		e.inbox = append(e.inbox, message{generation: s.Trust, trusts: s.Trusted()})
		e.sent = s.Trust
	}
}

func life(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{time.Hour, 24 * time.Hour}).Draw(t, "life")
}

// serve lets everything happen that is due between the control plane and a sidecar.
func (m *mesh) serve(e *envoy, life time.Duration) {
	m.connect(e)
	m.send(e)
	for len(e.inbox) > 0 {
		m.deliver(e)
	}
	for len(e.acks) > 0 {
		m.hear(e)
	}
	if c := m.known[e.name]; c.Root != m.state().Signer() || c.Ends.Sub(m.now) < life/2 {
		m.issue(e, life)
	}
	for len(e.inbox) > 0 {
		m.deliver(e)
	}
}

// hasten asks for a leaf before anything else has reached the sidecar.
func (m *mesh) hasten(e *envoy) {
	m.connect(e)
	m.issue(e, 24*time.Hour)
	for len(e.inbox) > 0 {
		m.deliver(e)
	}
}

// advance lets a phase pass among all who are connected, or all but one.
func (m *mesh) advance(t *rapid.T) {
	frozen, life := m.any(t), life(t)
	for _, e := range m.envoys {
		if e.connected && (e != frozen || rapid.Bool().Draw(t, "answers")) {
			m.serve(e, life)
		}
	}
	m.step()
}

// issue stores what it reserves before the leaf is on its way.
func (m *mesh) issue(e *envoy, life time.Duration) {
	s, c := m.state(), m.known[e.name]
	if !e.connected || !s.MayIssue(c) {
		return
	}
	ends := m.now.Add(life)
	if next, changed := s.Reserve(ends, 10*time.Minute); changed {
		m.store(next)
	}
	c.Root = s.Signer()
	if ends.After(c.Ends) {
		c.Ends = ends
	}
	m.known[e.name] = c
	e.inbox = append(e.inbox, message{root: s.Signer(), ends: ends})
}

func (m *mesh) deliver(e *envoy) {
	if len(e.inbox) == 0 {
		return
	}
	next := e.inbox[0]
	e.inbox = e.inbox[1:]
	if next.generation == 0 {
		e.root, e.ends = next.root, next.ends
		return
	}
	e.trusts = next.trusts
	e.acks = append(e.acks, next.generation)
}

func (m *mesh) hear(e *envoy) {
	if len(e.acks) == 0 {
		return
	}
	c := m.known[e.name]
	c.Trust = e.acks[0]
	m.known[e.name], e.acks = c, e.acks[1:]
}

// calm brings everybody back and lets time pass: the rotation has to end, and everybody to
// trust the one root that is left.
func (m *mesh) calm(t *rapid.T) {
	for range 4 * 24 * 2 {
		for _, e := range m.envoys {
			m.serve(e, 24*time.Hour)
			m.law(t)
		}
		if !m.step() && m.state().Phase == Steady {
			for _, e := range m.envoys {
				if !slices.Equal(e.trusts, m.state().Trusted()) {
					t.Fatalf("%s: %s trusts %v", m.stored, e.name, e.trusts)
				}
			}
			return
		}
		m.law(t)
		m.now = m.now.Add(30 * time.Minute)
	}
	t.Fatalf("the rotation does not end: %s", m.stored)
}

// parse reads what encoding/json wrote of a State. What it does not know it refuses: a state
// that is guessed could take away a root that is in use.
func parse(text []byte) (State, error) {
	var s State
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return State{}, fmt.Errorf("read the state of a rotation: %w", err)
	}
	if d.More() {
		return State{}, errors.New("read the state of a rotation: there is more than one")
	}
	if err := s.Check(); err != nil {
		return State{}, err
	}
	return s, nil
}
