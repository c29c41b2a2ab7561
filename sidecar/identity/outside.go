package identity

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/xds/server/authority/spire"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Spire is what the control plane says to a workload whose certificates come from the SPIRE
// beside it.
type Spire struct {
	ID      string        `json:"id"`      // whose certificate is used, and no other
	Timeout time.Duration `json:"timeout"` // how long the Workload API may take to answer first
	Roots   [][]byte      `json:"roots"`   // whom others believe, in DER form; none where the control plane does not say
}

// believed are those roots; nil where they are not known.
func (s *Spire) believed() (out []*x509.Certificate) {
	for _, der := range s.Roots {
		if c, err := x509.ParseCertificate(der); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// WorkloadAPIState is what the Workload API offers, as the control plane is told.
type WorkloadAPIState struct {
	IDs        []string `json:"ids,omitempty"`
	Error      string   `json:"error,omitempty"`
	Unbelieved bool     `json:"unbelieved,omitempty"` // Error is that others do not believe the root of what is offered
}

// mostOffered bounds what is told of an offer: names, and bytes of each text.
const (
	mostOffered = 8
	longestText = 512
)

func (o *WorkloadAPIState) equal(other *WorkloadAPIState) bool {
	return o == nil && other == nil || o != nil && other != nil && o.Error == other.Error && o.Unbelieved == other.Unbelieved && slices.Equal(o.IDs, other.IDs)
}

// Why nothing is used of what the Workload API offers.
var (
	errOther  = errors.New("the Workload API offers certificates of other names than that of the documents, which are not used")
	errSilent = errors.New("the Workload API has not answered")
)

// outside are the certificates of the Workload API beside the workload. What it pushes is used at
// once, whether the control plane is there or not: who the workload is was said before.
type outside struct {
	*Holder
	address string
	told    *WorkloadAPIState // of the goroutine that asks the control plane

	using  sync.Mutex // one certificate after the other
	source *spire.WorkloadAPI
	stop   context.CancelFunc
	answer CertifyResponse
}

// offer is what is offered now, as far as the control plane has to hear of it: where it is told of
// nothing wrong, nothing is.
func (o *outside) offer() *WorkloadAPIState {
	if o.source == nil {
		return nil
	}
	state, _ := o.source.State()
	offer, err := o.serve(state)
	if err == nil && o.told == nil {
		return nil
	}
	return offer
}

// adopt serves a certificate of the name that the control plane has answered to a question. What is
// wrong with those that are offered is told to the control plane, once.
func (o *outside) adopt(ctx context.Context, q CertifyRequest, answer CertifyResponse) error {
	if q.Offer != nil {
		o.told = q.Offer
	}
	o.watch(ctx, answer)
	state, answered := o.first(ctx, answer.Spire.Timeout)
	offer, err := o.serve(state)
	if !answered {
		err = fmt.Errorf("%w within %s", errSilent, answer.Spire.Timeout)
	}
	if o.told.equal(offer) || err == nil && o.told == nil {
		return err
	}
	q.Offer = offer
	_, asking := o.ask(ctx, q)
	if asking == nil {
		o.told = offer
	}
	return errors.Join(err, asking)
}

// watch follows the Workload API from the first answer on that says so.
func (o *outside) watch(ctx context.Context, answer CertifyResponse) {
	o.using.Lock()
	defer o.using.Unlock()
	o.answer = answer
	if o.source != nil {
		return
	}
	ctx, o.stop = context.WithCancel(ctx)
	o.source = spire.New(o.address)
	go o.source.WatchSVIDs(ctx)
	go o.follow(ctx, o.source)
}

// leave ends that: the control plane signs, or nobody does.
func (o *outside) leave() {
	o.using.Lock()
	defer o.using.Unlock()
	if o.source != nil {
		o.stop()
		o.source, o.stop, o.told, o.answer = nil, nil, nil, CertifyResponse{}
	}
}

// first is what the Workload API says, waited for as long as it may take; not ok where it has said
// nothing yet.
func (o *outside) first(ctx context.Context, patience time.Duration) (state spire.State, ok bool) {
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		state, changed := o.source.State()
		if len(state.SVIDs) > 0 || state.Err != nil {
			return state, true
		}
		select {
		case <-ctx.Done():
			return state, false
		case <-over.C:
			return state, false
		case <-changed:
		}
	}
}

// follow serves what the Workload API pushes until ctx ends. The control plane is asked where it
// hears something else of that than before.
func (o *outside) follow(ctx context.Context, source *spire.WorkloadAPI) {
	var before *WorkloadAPIState
	said := ""
	for {
		state, changed := source.State()
		if text := errorText(state.Err); text != said && ctx.Err() == nil {
			if said = text; text != "" {
				o.log.Warn("the Workload API gives nothing newer; what it gave is used until it ends", "error", text)
			}
		}
		offer, _ := o.serve(state)
		if before != nil && !before.equal(offer) && ctx.Err() == nil {
			o.Again()
		}
		before = offer
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-time.After(o.turns(time.Now())):
		}
	}
}

// turns is how long it takes until something else is to be said of the certificate in use: that
// another one is due, or that it has ended.
func (o *outside) turns(now time.Time) time.Duration {
	c, _, _ := o.Current()
	for _, at := range []time.Time{workload.WarnAt(c.Issued, c.Expires), c.Expires} {
		if wait := at.Sub(now); wait >= 0 {
			return wait + time.Millisecond // after, and not at that time
		}
	}
	return longestPause
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// serve puts the certificate of the right name in the place of the one before.
func (o *outside) serve(state spire.State) (*WorkloadAPIState, error) {
	o.using.Lock()
	defer o.using.Unlock()
	offer := &WorkloadAPIState{}
	for _, v := range state.SVIDs[:min(mostOffered, len(state.SVIDs))] {
		offer.IDs = append(offer.IDs, v.ID[:min(longestText, len(v.ID))])
	}
	slices.Sort(offer.IDs)
	at := slices.IndexFunc(state.SVIDs, func(v spire.SVID) bool { return o.answer.Spire != nil && v.ID == o.answer.Spire.ID })
	err := cmp.Or(state.Err, errSilent)
	switch {
	case at >= 0:
		err = o.use(state.SVIDs[at])
	case len(state.SVIDs) > 0:
		err = errOther
	}
	if err == nil {
		err = o.ending(state.Err, time.Now())
	}
	if err != nil && (at >= 0 || len(state.SVIDs) == 0) {
		offer.Unbelieved = errors.Is(err, workload.ErrUnbelieved)
		offer.IDs, offer.Error = nil, err.Error()[:min(longestText, len(err.Error()))]
	}
	return offer, err
}

// ending is that the certificate in use has been for so long that another one was due, and that the
// Workload API gives none. Before, nobody is told of one that is away.
func (o *outside) ending(why error, now time.Time) error {
	c, ok, _ := o.Current()
	if why == nil || !ok || !now.After(workload.WarnAt(c.Issued, c.Expires)) {
		return nil
	}
	return fmt.Errorf("its certificate ends at %s, and there is no other: %w", c.Expires.UTC().Format(time.RFC3339), why)
}

// use serves one certificate, unless it is served already.
func (o *outside) use(v spire.SVID) error {
	answer := o.answer
	answer.Chain, answer.Renew = string(workload.CertificateChain(v.Chain).PEM()), time.Now().Add(jittered(longestPause))
	if c, ok, _ := o.Current(); ok && c.Serial == workload.Fingerprint(v.Chain[0]) && time.Now().Before(c.Expires) {
		return nil
	}
	c, err := accept(answer, v.Key, o.answer.Spire.believed(), time.Now())
	if err != nil {
		return fmt.Errorf("the Workload API offers a certificate that is of no use: %w", err)
	}
	return o.Holder.use(c)
}
