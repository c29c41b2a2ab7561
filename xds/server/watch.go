package server

import (
	"context"
	"fmt"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// The requests of a client as the library's engine hands them on, as to a cache that it
// watches.

// CreateWatch takes a request of the state-of-the-world form.
func (st *stream) CreateWatch(q *discoveryv3.DiscoveryRequest, sub cache.Subscription, out chan cache.Response) (func(), error) {
	w := watchOf(sub)
	w.full = &fullRequest{q, out}
	return st.watch(q.GetTypeUrl(), w, func(f *flow) {
		f.subscribeOnly(sub)
		if f.queued != nil || !f.asked || !slices.Equal(f.names, q.GetResourceNames()) {
			st.uncover(f)
		}
		f.queued, f.names = nil, q.GetResourceNames() // the library dropped what was queued
		st.answered(f, q.GetResponseNonce(), q.GetErrorDetail())
	})
}

// CreateDeltaWatch takes a request of the delta form.
func (st *stream) CreateDeltaWatch(q *discoveryv3.DeltaDiscoveryRequest, sub cache.Subscription, out chan cache.DeltaResponse) (func(), error) {
	return st.watch(q.GetTypeUrl(), watchOf(sub), func(f *flow) {
		st.deltaOut = out
		if f.queued != nil {
			unqueue(f.kind, out)
			f.queued = nil
			st.uncover(f)
		}
		if !f.asked || len(q.GetResourceNamesSubscribe())+len(q.GetResourceNamesUnsubscribe()) > 0 {
			st.uncover(f)
		}
		f.unsubscribe(q.GetResourceNamesSubscribe(), q.GetResourceNamesUnsubscribe(), sub)
		if !f.asked {
			f.floor()
			st.unverified.apply(f)
		} else {
			st.askedAgain(f, q.GetResourceNamesSubscribe())
		}
		st.answered(f, q.GetResponseNonce(), q.GetErrorDetail())
	})
}

// uncover says that the client may lack something of a type, or have too much.
func (st *stream) uncover(f *flow) { f.covers, st.pruned = 0, 0 }

// unqueue takes back a response that was made for the request before: it does
// not know of this one, and would make the client's state unknown.
func unqueue(k kind, queue chan cache.DeltaResponse) {
	for range len(queue) {
		if r := <-queue; r.(*response).kind != k {
			queue <- r
		}
	}
}

// watch opens w, after what the request says of earlier responses.
func (st *stream) watch(url string, w watch, heed func(*flow)) (func(), error) {
	k, ok := kindOf(url)
	if !ok {
		return nil, nil // never answered: weft has nothing of that type
	}
	if err := tooMany(len(w.names)); err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.suspended = false
	f := &st.flows[k]
	if !f.asked {
		st.bring(f, w)
	}
	heed(f)
	if k == listeners && st.starting() && st.slow(st.took) { // Status told of it
		defer st.server.opts.Observer.Stirred(st.peer.Dataplane)
	}
	f.watch, f.open, f.asked = w, true, true
	st.confirmKnown(f)
	st.pump()
	return st.cancel, nil
}

// suspend is called by the library before it takes a request of a type that was asked for before,
// and when the stream ends: in between it changes the names of that type, and after it closes
// where answers go. So nothing is answered until the request is here.
func (st *stream) suspend() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.suspended = true
}

// Fetch is the form of xDS without streams, which weft does not serve.
func (st *stream) Fetch(context.Context, *discoveryv3.DiscoveryRequest) (cache.Response, error) {
	return nil, fmt.Errorf("weft serves streams only")
}
