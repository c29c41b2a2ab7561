package mtls

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// insight is that of one dataplane. There is one for each, so that it is small.
type insight struct {
	told         *api.DataplaneInsight // to the loop; nil where there is no insight, and shared by all of whom the same is known
	connections  *attach.Connections   // as its agent has told last; nil for nothing
	passing      *passing              // nil for the zero value; see now and change
	held         heldCert              // as it was proved last; the zero value for none
	certificates uint32                // that it has had
	at           placed                // of its object; nowhere while none was told
	sees         bool                  // its Envoy has acknowledged what the certificate is for
	seesThere    bool                  // so says the peer that has its stream
	overADS      bool                  // the control plane makes its key
	resumes      bool                  // it is to go on taking plain text, and the loop was not told yet
	strict       bool                  // it may take none
}

// passing is what there is to know of a dataplane for a while, and of few at a time.
type passing struct {
	shown      *attach.Certificate // by its agent, and not proved yet
	doubt      string              // why what is shown is not proved
	asked      string              // for which name a certificate was asked for, at askedAt
	askedAt    time.Time
	refused    api.IdentityRefusal // the last answer to its asking for a certificate
	skew       time.Duration       // see api.DataplaneInsight
	followed   time.Time           // see state
	agreed     time.Time           // see state
	plainSince time.Time           // see state.held
}

// now is what there is of that.
func (i *insight) now() passing {
	if i.passing == nil {
		return passing{}
	}
	return *i.passing
}

// change has f change it.
func (i *insight) change(f func(*passing)) {
	p := i.now()
	if f(&p); p == i.now() {
		return
	}
	if i.passing = nil; p != (passing{}) {
		i.passing = &p
	}
}

// placed is where the object of a dataplane stands, beside the name by which its sidecar calls it.
type placed uint8

const (
	nowhere placed = iota
	asCalled
	inNamespace
)

func placeOf(ref api.Ref) placed {
	switch {
	case ref == api.Ref{}:
		return nowhere
	case ref.Namespace == "":
		return asCalled
	}
	return inNamespace
}

// of is the object that is called by a name.
func (p placed) of(name api.Ref) api.Ref {
	return name.Resolve(func(r api.Ref) bool { return placeOf(r) == p })
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
	insists   bool // an inbound is Strict
}

// sighted asks streams. It is asked before the lock: a stream tells of itself, and waits for the
// lock, while it holds its own.
func (x *Insights) sighted(m *resolve.Model, ref api.Ref, followed func(mesh string) bool) (s sight) {
	st, known := x.Sidecars.Sidecar(ref)
	s.connected, s.client = known && st.Connected, st.Client
	s.here = x.Sidecars.Here(ref)
	s.sees = s.connected && st.InSync && s.here
	s.comes = s.connected || x.Reconnects.Awaits(ref, time.Now())
	s.held = holdsPlain(m, ref)
	s.known = s.held && followed(ref.Mesh)
	s.insists = insists(m, ref)
	return s
}

// one is the change of the insight of one dataplane; not ok where there is none.
func (x *Insights) one(m *resolve.Model, name api.Ref, now time.Time, followed func(mesh string) bool) (c snapshot.Change, ok bool) {
	ref := name.Resolve(reconcile.Serves(m))
	id, there := m.Identity(ref)
	var s sight
	if there {
		s = x.sighted(m, ref, followed)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.insight(name) == nil && id == nil {
		return c, false
	}
	i := x.entry(name)
	if !there {
		c, ok = changeOf(name, i, api.Ref{}, api.DataplaneInsight{})
		x.forget(name, now)
		return c, ok
	}
	if s.here { // what a peer has said was of an earlier stream
		i.seesThere = false
	}
	want := api.DataplaneInsight{OverADS: i.overADS}
	var to state
	var gaveUp bool
	if id != nil && len(id.Names) > 0 {
		to, gaveUp = x.identified(name, i, id, &want, s, now)
	} else {
		s.insists = s.insists && id != nil
		to, gaveUp = x.moved(name, i, facts{}, s)
	}
	if gaveUp {
		x.Log.Warn("an inbound takes plain text no more, although not all sidecars have acknowledged that it takes TLS", "dataplane", ref, "waited", x.HoldPlain)
	}
	want.Plain = to.takes == Held
	strict := to.takes == StrictOnly
	x.urgent = x.urgent || strict != i.strict || want.TLS != i.told.TLS || want.Plain != i.told.Plain
	i.strict = strict
	return changeOf(name, i, ref, want)
}

// state is where a dataplane stands.
func (i *insight) state() state {
	known := i.now()
	out := state{called: Uncertified, takes: AsDocumented, followed: known.followed, agreed: known.agreed, held: known.plainSince}
	switch {
	case i.sees:
		out.called = CalledByTLS
	case i.told.Identity:
		out.called = Certified
	}
	switch {
	case i.told.Plain:
		out.takes = Held
	case i.strict:
		out.takes = StrictOnly
	}
	return out
}

// moved is where a dataplane stands after what streams say of it, beside what f says already.
func (x *Insights) moved(name api.Ref, i *insight, f facts, s sight) (to state, gaveUp bool) {
	f.connected, f.comes, f.here, f.follows, f.peer = s.connected, s.comes, s.here, s.sees, i.seesThere
	f.holds, f.known, f.insists, f.resumed = s.held, s.known, s.insists, i.resumes
	f.now, f.patience = time.Now(), x.HoldPlain
	to, do := next(i.state(), f)
	if do.lookAgain {
		x.waiting = append(x.waiting, name)
	}
	i.sees, i.resumes = to.called == CalledByTLS, false
	i.keep(to)
	return to, do.gaveUp
}

// keep takes note of since when something lasts.
func (i *insight) keep(s state) {
	i.change(func(p *passing) { p.followed, p.agreed, p.plainSince = s.followed, s.agreed, s.held })
}

// identified makes want what is to be told of a dataplane that has an identity, or is leaving one, and says
// where it stands then.
func (x *Insights) identified(name api.Ref, i *insight, id *effective.Identity, want *api.DataplaneInsight, s sight, now time.Time) (to state, gaveUp bool) {
	if want.Identity = i.held.valid(now) && i.held.names() != ""; want.Identity && i.held.names() != lined(id.Names) {
		if names := unlined(i.held.names()); !slices.Equal(issuer.SpiffeIDs(names), issuer.SpiffeIDs(id.Names)) {
			want.Shows = names
		}
	}
	to, gaveUp = x.moved(name, i, facts{certificate: want.Identity, leaves: id.Leaves}, s)
	want.TLS = to.called == CalledByTLS
	if i.held != (heldCert{}) && !i.held.valid(now) {
		x.ended[name] = true
	}
	known := i.now()
	if want.Refused = known.refused; !want.Identity {
		if why, ok := x.NoProof(); ok {
			want.Refused = why
		}
	}
	want.Skew, want.Proxyless = known.skew, s.connected && syncstatus.IsGRPC(s.client)
	switch {
	case id.Leaves:
	case want.Identity && want.Shows == nil:
		i.change(func(p *passing) { p.asked, p.askedAt = "", time.Time{} })
	case known.asked != id.Names[0] || now.Sub(known.askedAt).Abs() > sweepEvery/2:
		x.wanting = append(x.wanting, wanting{name, id.Names[0]})
	}
	return to, gaveUp
}

// wanting is a dataplane that is to have a certificate of a name.
type wanting struct {
	dataplane api.Ref
	name      string
}

// ask asks the sidecars of those for certificates, once in a while for each name. It needs no lock:
// streams are asked.
func (x *Insights) ask() {
	now := x.Now()
	for _, w := range x.wanting {
		if !x.Certify(w.dataplane) {
			continue
		}
		x.mu.Lock()
		if i := x.insight(w.dataplane); i != nil {
			i.change(func(p *passing) { p.asked, p.askedAt = w.name, now })
		}
		x.mu.Unlock()
	}
	x.wanting = nil
}

// changeOf makes want what is told of a dataplane, which is called by a name.
func changeOf(name api.Ref, i *insight, ref api.Ref, want api.DataplaneInsight) (c snapshot.Change, ok bool) {
	told := i.told
	same := sameInsight(told, &want)
	if same && (i.at == placeOf(ref) || i.at == nowhere) {
		return c, false
	}
	if i.at != nowhere {
		c.Before = &api.Object{Ref: api.InsightRef(i.at.of(name)), Spec: told}
	}
	i.at, i.told = placeOf(ref), interned(want)
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
