package mtls

import "time"

// Nobody is called in a way that he does not take, whatever happens to a control plane: each step rests on
// what Envoys have acknowledged, not on what they were told. This file is all that is decided about it: next
// for a dataplane, and relies for a mesh whose documents give identities no more.
//
// Where a dataplane stands is written down before anybody is told of it (insights.write), and a control
// plane that starts goes on from there. So an Envoy may be where it was told to be, or a step before that,
// and each two of these neighbours understand each other. What is not known does not hold: it moves nothing
// towards mutual TLS alone.

// Called is how a dataplane is called by those who have certificates.
type Called string

// The ways, as api.DataplaneInsight has them: Certified has Identity, and CalledByTLS has TLS too.
const (
	Uncertified Called = "Uncertified" // in plain text; there is no certificate, or no identity
	Certified   Called = "Certified"   // in plain text; inbounds take both as far as documents do not say Strict
	CalledByTLS Called = "CalledByTLS"
)

// Takes is what the inbounds of a dataplane take, as far as documents say Strict.
type Takes string

// What they take.
const (
	AsDocumented Takes = "AsDocumented" // plain text, and TLS beside it once there is a certificate: no inbound is Strict
	Held         Takes = "Held"         // both, although one is Strict: who calls may not know yet (api.DataplaneInsight.Plain)
	StrictOnly   Takes = "StrictOnly"   // TLS alone, where an inbound is Strict
)

// state is where a dataplane stands, and since when what has to last has lasted; zero for not at all.
type state struct {
	called   Called
	takes    Takes
	followed time.Time // that its Envoy has acknowledged what its certificate is for
	agreed   time.Time // that all know that it takes TLS
	held     time.Time // that it takes plain text although it is to take none
}

// facts are what is seen of a dataplane.
type facts struct {
	certificate bool // it has an identity by documents or by those of before, and a certificate that has not ended
	leaves      bool // documents give it no identity any more
	insists     bool // an inbound of it is Strict

	connected bool // its Envoy
	comes     bool // it is connected, or is waited for after a restart
	here      bool // its stream is here, and with no peer
	follows   bool // and it has acknowledged everything
	peer      bool // the peer that has its stream says that it has acknowledged TLS

	hardens bool // a step takes plain text away that it took until now
	resumed bool // so did one before a restart, and it was not written down that it takes none
	holds   bool // the model has an inbound that takes plain text although it is Strict
	known   bool // all sidecars of the mesh that are connected or waited for have acknowledged everything

	now      time.Time
	patience time.Duration // for how long plain text is taken at most

	// What next finds out by the clock.
	acknowledged, agreed, overdue bool
}

// actions are what is to be done beside telling what the state comes to.
type actions struct {
	lookAgain bool // nothing may happen any more that tells of what it waits for
	gaveUp    bool // patience has ended
}

// transition is a row of a table: of those from a state the first whose facts hold is taken, and where none
// is, the state stays.
type transition[S ~string] struct {
	from, to S
	when     string // for people
	holds    func(f *facts) bool
}

// elsewhere says that its stream is at a peer.
func (f *facts) elsewhere() bool { return f.connected && !f.here }

// takesTLS reports whether its Envoy is known to take TLS.
func (f *facts) takesTLS() bool {
	if f.leaves {
		return f.elsewhere() && f.peer
	}
	return f.peer || f.acknowledged
}

// takesBoth reports whether the Envoy of one that leaves its identity takes plain text again, or is away.
func (f *facts) takesBoth() bool {
	if f.elsewhere() {
		return !f.peer
	}
	return f.follows || !f.comes
}

var calling = []transition[Called]{
	{Uncertified, CalledByTLS, "a certificate is proved, and a peer says that its Envoy takes TLS", func(f *facts) bool { return f.certificate && f.takesTLS() }},
	{Uncertified, Certified, "a certificate is proved", func(f *facts) bool { return f.certificate }},
	{Certified, Uncertified, "the certificate has ended, or there is no identity", func(f *facts) bool { return !f.certificate }},
	{Certified, CalledByTLS, "its Envoy has acknowledged TLS for a second, or a peer says so", (*facts).takesTLS},
	{CalledByTLS, Uncertified, "the certificate has ended, or there is no identity", func(f *facts) bool { return !f.certificate }},
	{CalledByTLS, Certified, "documents give no identity any more, and its Envoy has acknowledged that it takes both, or is away", func(f *facts) bool { return f.leaves && f.takesBoth() }},
}

var taking = []transition[Takes]{
	{AsDocumented, Held, "it turns Strict while its sidecar is connected or waited for, also before a restart", (*facts).begins},
	{AsDocumented, StrictOnly, "it is Strict and new, or its sidecar is away", func(f *facts) bool { return f.insists }},
	{Held, Held, "a restart, or Strict for another inbound, begins the wait anew", (*facts).begins},
	{Held, StrictOnly, "it is called by TLS, which all have known for a second; or patience has ended", func(f *facts) bool { return f.insists && f.ends() }},
	{Held, AsDocumented, "documents take Strict back", func(f *facts) bool { return f.ends() }},
	{StrictOnly, Held, "another inbound turns Strict", (*facts).begins},
	{StrictOnly, AsDocumented, "documents take Strict back", func(f *facts) bool { return !f.insists }},
}

func (f *facts) begins() bool { return f.hardens || f.resumed }

func (f *facts) ends() bool { return !f.holds || f.agreed || f.overdue }

// move is the state by a table.
func move[S ~string](table []transition[S], s S, f *facts) S {
	for i := range table {
		if t := &table[i]; t.from == s && t.holds(f) {
			return t.to
		}
	}
	return s
}

// arrives is how long a connection may be on its way that somebody has begun before he learnt to begin
// others in another way, and how long the workers of an Envoy may take to go by what it has acknowledged:
// for so long both ways are taken on.
const arrives = time.Second

// lasts reports whether something has held for so long without a break, by since when it does.
func lasts(since *time.Time, holds bool, now time.Time) bool {
	switch {
	case !holds:
		*since = time.Time{}
	case since.IsZero():
		*since = now
	}
	return holds && now.Sub(*since) > arrives
}

// next is where a dataplane stands by what is seen of it.
func next(s state, f facts) (state, actions) {
	var do actions
	if s.called == Certified && f.certificate && !f.leaves && !f.peer {
		switch begun := !s.followed.IsZero(); {
		case begun && f.now.Sub(s.followed) > arrives:
			f.acknowledged, s.followed = true, time.Time{}
		case !begun && f.follows:
			s.followed = f.now
		}
	}
	if s.takes == Held && f.holds && !f.begins() {
		f.agreed = lasts(&s.agreed, s.called == CalledByTLS && f.known, f.now)
		f.overdue = !f.agreed && f.now.Sub(s.held) > f.patience
		do.gaveUp = f.overdue
	}
	s.takes = move(taking, s.takes, &f)
	switch {
	case s.takes != Held:
		s.agreed, s.held = time.Time{}, time.Time{}
	case f.begins():
		s.agreed, s.held = time.Time{}, f.now
	}
	if f.hardens { // how it is called is looked at once the step is made
		return s, do
	}
	if s.called = move(calling, s.called, &f); s.called == Uncertified {
		s.followed = time.Time{}
	}
	do.lookAgain = s.takes == Held || s.called != Uncertified && f.connected && (s.called == CalledByTLS) == f.leaves
	return s, do
}

// relies reports whether a mesh whose documents give identities no more goes on as if they did: until all
// that are connected or waited for have known for a second that nobody is called by TLS, or patience has
// ended.
func relies(agreed *time.Time, calledByTLS, known bool, since, now time.Time, patience time.Duration) (on, gaveUp bool) {
	if lasts(agreed, !calledByTLS && known, now) {
		return false, false
	}
	gaveUp = now.Sub(since) > patience
	return !gaveUp, gaveUp
}
