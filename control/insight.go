package control

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server"
)

// insight is that of one dataplane.
type insight struct {
	shown        *attach.Certificate   // by its agent, and not proved yet
	held         *authorities.Held     // as it was proved last; nil for none
	doubt        string                // why what is shown is not proved
	sees         bool                  // its Envoy has acknowledged what the certificate is for
	seesThere    bool                  // so says the peer that has its stream
	at           api.Ref               // its object; zero while none was told
	told         *api.DataplaneInsight // to the loop; never nil, and shared by all of whom the same is known
	asked        string                // for which name a certificate was asked for, at askedAt
	askedAt      time.Time
	certificates int                 // that it has had
	overADS      bool                // the control plane makes its key
	connections  *attach.Connections // as its agent has told last; nil for nothing
	refused      api.IdentityRefusal // the last answer to its asking for a certificate
	skew         time.Duration       // see api.DataplaneInsight
	plainSince   time.Time           // since when it takes plain text although it is to take none
	agreed       agreed              // that it is to take none
	resumes      bool                // it is to go on taking it, and the loop was not told yet
	strict       bool                // it may take none
}

// entry is the insight of a dataplane by the name by which its sidecar calls it, a new one where there
// is none. It needs mu.
func (x *insights) entry(name api.Ref) *insight {
	i := x.of[name]
	if i == nil {
		i = &insight{told: &nothingKnown}
		x.of[name] = i
	}
	return i
}

// sight is what streams say of a sidecar now.
type sight struct {
	client    string
	connected bool
	comes     bool // it is connected, or is waited for after a restart
	here      bool // its stream is here, and with no peer
	sees      bool // it follows, as is known where its stream is
	held      bool // an inbound takes plain text that is to take none
	known     bool // and all who call it know that it takes TLS
}

// sighted asks streams. It is asked before the lock: a stream tells of itself, and waits for the
// lock, while it holds its own.
func (x *insights) sighted(m *resolve.Model, ref api.Ref, followed func(mesh string) bool) (s sight) {
	st, known := x.plane.sidecars().Sidecar(ref)
	s.connected, s.client = known && st.Connected, st.Client
	s.here = x.plane.sidecars().here(ref)
	s.sees = s.connected && st.InSync && s.here
	s.comes = s.connected || x.plane.returning.awaits(ref, time.Now())
	s.held = holdsPlain(m, ref)
	s.known = s.held && followed(ref.Mesh)
	return s
}

// one is the change of the insight of one dataplane; not ok where there is none.
func (x *insights) one(m *resolve.Model, name api.Ref, now time.Time, followed func(mesh string) bool) (c api.Change, ok bool) {
	ref := name.Resolve(serves(m))
	id, there := m.Identity(ref)
	var s sight
	if there {
		s = x.sighted(m, ref, followed)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of[name] == nil && id == nil {
		return c, false
	}
	i := x.entry(name)
	if !there {
		delete(x.of, name)
		return changeOf(i, api.Ref{}, api.DataplaneInsight{})
	}
	if s.here { // what a peer has said was of an earlier stream
		i.seesThere = false
	}
	want := api.DataplaneInsight{OverADS: i.overADS}
	if id != nil && len(id.Names) > 0 {
		x.identified(name, i, id, &want, s, now)
	}
	if !want.Identity {
		i.sees = false
	}
	if want.Plain = i.resumes || i.told.Plain && s.held && x.holdsOn(ref, i, s.known); want.Plain {
		x.waiting = append(x.waiting, name)
	}
	i.resumes = false
	strict := id != nil && !want.Plain && insists(m, ref)
	x.urgent = x.urgent || strict != i.strict || want.TLS != i.told.TLS || want.Plain != i.told.Plain
	i.strict = strict
	return changeOf(i, ref, want)
}

// identified makes want what is to be told of a dataplane that has an identity, or is leaving one.
func (x *insights) identified(name api.Ref, i *insight, id *resolve.Identity, want *api.DataplaneInsight, s sight, now time.Time) {
	if h := i.held; h != nil && now.Before(h.Ends) && len(h.Names) > 0 {
		want.Identity = true
		switch {
		case slices.Equal(h.Names, id.Names):
			h.Names = id.Names // and one text for all of a service
		case !slices.Equal(ids(h.Names), ids(id.Names)):
			want.Shows = h.Names
		}
		switch {
		case !id.Leaves:
			i.sees = i.sees || i.told.Identity && s.sees || i.seesThere
		case s.connected && !s.here:
			i.sees = i.seesThere
		default: // it is called by TLS until it takes plain text
			i.sees = i.sees && s.comes && !s.sees
		}
		if want.TLS = i.sees; s.connected && i.sees == id.Leaves {
			x.waiting = append(x.waiting, name)
		}
	}
	if want.Refused = i.refused; !want.Identity {
		if why, ok := x.plane.noProof(); ok {
			want.Refused = why
		}
	}
	want.Skew, want.Proxyless = i.skew, s.connected && server.IsGRPC(s.client)
	switch {
	case id.Leaves:
	case want.Identity && want.Shows == nil:
		i.asked = ""
	case i.asked != id.Names[0] || now.Sub(i.askedAt) > sweepEvery/2:
		x.wanting = append(x.wanting, wanting{name, id.Names[0]})
	}
}

// wanting is a dataplane that is to have a certificate of a name.
type wanting struct {
	dataplane api.Ref
	name      string
}

// ask asks the sidecars of those for certificates, once in a while for each name. It needs no lock:
// streams are asked.
func (x *insights) ask() {
	now := x.plane.cfg.clock()()
	for _, w := range x.wanting {
		if !x.plane.certifyNow(w.dataplane) {
			continue
		}
		x.mu.Lock()
		if i := x.of[w.dataplane]; i != nil {
			i.asked, i.askedAt = w.name, now
		}
		x.mu.Unlock()
	}
	x.wanting = nil
}

// changeOf makes want what is told of a dataplane.
func changeOf(i *insight, ref api.Ref, want api.DataplaneInsight) (c api.Change, ok bool) {
	told := i.told
	same := sameInsight(told, &want)
	if same && (i.at == ref || i.at == (api.Ref{})) {
		return c, false
	}
	if i.at != (api.Ref{}) {
		c.Before = &api.Object{Ref: api.InsightRef(i.at), Spec: told}
	}
	i.at, i.told = ref, interned(want)
	if ref == (api.Ref{}) {
		return c, c.Before != nil
	}
	c.After = &api.Object{Ref: api.InsightRef(ref), Spec: i.told}
	return c, true
}

// nothingKnown is what is told of most dataplanes of meshes without identities.
var nothingKnown api.DataplaneInsight

// usual are the insights that most dataplanes have, one of each.
var usual = func() (all [1 << 3]*api.DataplaneInsight) {
	for n := range all {
		all[n] = &api.DataplaneInsight{Identity: n&1 > 0, TLS: n&2 > 0, Plain: n&4 > 0}
	}
	all[0] = &nothingKnown
	return all
}()

// interned is a value that says the same, where possible one that others have too.
func interned(x api.DataplaneInsight) *api.DataplaneInsight {
	for _, u := range usual {
		if sameInsight(u, &x) {
			return u
		}
	}
	return &x
}

func sameInsight(a, b *api.DataplaneInsight) bool {
	return a.Identity == b.Identity && a.TLS == b.TLS && a.Plain == b.Plain && a.OverADS == b.OverADS && a.Refused == b.Refused &&
		a.Skew == b.Skew && a.Proxyless == b.Proxyless && slices.Equal(a.Shows, b.Shows)
}
