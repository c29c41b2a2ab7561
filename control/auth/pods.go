package auth

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/identity"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/token"
)

// clusterAuthenticator says who a sidecar is in a cluster: that of a pod by the token of its service
// account, that of a hand-written Dataplane by one of `weft token dataplane`, which is good
// for no pod (spec/kubernetes.md 7).
type clusterAuthenticator struct {
	keys  DataplaneKeys
	pods  authn.Authenticator
	isPod func(api.Ref) bool // of a dataplane
}

// NewClusterAuthenticator knows the sidecars of pods by what reviews their tokens, and those of hand-written
// Dataplanes by keys.
func NewClusterAuthenticator(keys DataplaneKeys, pods authn.Authenticator, isPod func(api.Ref) bool) authn.Authenticator {
	return clusterAuthenticator{keys, pods, isPod}
}

// Authenticate asks who issued the token.
func (i clusterAuthenticator) Authenticate(ctx context.Context, text string) (authn.Identity, error) {
	if !token.IsOwn(text) {
		return i.pods.Authenticate(ctx, text)
	}
	who, err := i.keys.Authenticate(ctx, text)
	if err == nil && i.isPod(who.Dataplane) {
		return authn.Identity{}, status.Errorf(codes.PermissionDenied, "%s is that of a pod, which shows the token of its volume weft-token and no other", who.Dataplane)
	}
	return who, err
}

// Pods are the pods of the store, by namespace and name: what a pod calls its mesh may
// change, what it is may not.
type Pods struct {
	// gone is told of the dataplane and the token of each pod that has ended or is gone.
	gone func(dp api.Ref, token string)
	// came is told of those of each pod that has appeared.
	came func(dp api.Ref, token string)

	mu   sync.RWMutex
	pods map[podName]*api.Object
}

type podName struct{ namespace, name string }

// NewPods tells gone of the dataplane and the token of each pod that has ended or is gone, and came
// of those of each that has appeared.
func NewPods(gone, came func(dp api.Ref, token string)) *Pods {
	return &Pods{pods: map[podName]*api.Object{}, gone: gone, came: came}
}

// Pod is what is known of a pod.
func (k *Pods) Pod(namespace, name string) (identity.Pod, bool) {
	k.mu.RLock()
	o := k.pods[podName{namespace, name}]
	k.mu.RUnlock()
	if o == nil {
		return identity.Pod{}, false
	}
	return known(o), true
}

// known is a pod by what cannot be edited later (spec/kubernetes.md 7.1).
func known(o *api.Object) identity.Pod {
	out := identity.Pod{UID: o.UID(), Mesh: pods.MeshOf(o)}
	if spec, ok := o.Spec.(*api.Pod); ok {
		out.Account = cmp.Or(spec.Spec.ServiceAccountName, "default")
		out.Ended = spec.Status.Phase == "Succeeded" || spec.Status.Phase == "Failed"
	}
	return out
}

// Follow keeps the pods in step with a store until ctx ends or the store is closed.
func (k *Pods) Follow(ctx context.Context, s store.Store) {
	now, watch := s.Watch()
	defer watch.Stop()
	var first []snapshot.Change
	for o := range now.OfKind(api.KindPod) {
		first = append(first, snapshot.Change{After: o})
	}
	k.take(first)
	for {
		_, changes, err := watch.Next(ctx)
		if err != nil {
			return
		}
		k.take(changes)
	}
}

// take takes changes, those that remove first: one that changes its label kuma.io/mesh goes in
// one mesh and comes in another.
func (k *Pods) take(changes []snapshot.Change) {
	before := map[podName]*api.Object{}
	k.mu.Lock()
	for _, removes := range []bool{true, false} {
		for _, c := range changes {
			if at := c.Ref(); at.Kind == api.KindPod && (c.After == nil) == removes {
				name := podName{at.Namespace, at.Name}
				if _, seen := before[name]; !seen {
					before[name] = k.pods[name]
				}
				if removes {
					delete(k.pods, name)
				} else {
					k.pods[name] = c.After
				}
			}
		}
	}
	var ended, came []podEvent
	for name, o := range before {
		was, now := identity.Pod{Ended: true}, identity.Pod{Ended: true}
		if o != nil {
			was = known(o)
		}
		if o := k.pods[name]; o != nil {
			now = known(o)
		}
		other := now.UID != was.UID
		if was.Mesh != "" && !was.Ended && (now.Ended || other) {
			ended = append(ended, eventOf(name, was))
		}
		if now.Mesh != "" && !now.Ended && (was.Ended || other) {
			came = append(came, eventOf(name, now))
		}
	}
	k.mu.Unlock()
	for _, e := range ended {
		k.gone(e.dataplane, e.token)
	}
	for _, e := range came {
		k.came(e.dataplane, e.token)
	}
}

// podEvent is what happened to a pod: the dataplane that it is, and what its token is called.
type podEvent struct {
	dataplane api.Ref
	token     string
}

func eventOf(name podName, p identity.Pod) podEvent {
	return podEvent{api.Ref{Kind: api.KindDataplane, Mesh: p.Mesh, Namespace: name.namespace, Name: name.name}, identity.TokenOf(p.UID)}
}

// IsPod reports whether a dataplane, by its name or as its sidecar calls it, is that of a pod
// that is there.
func (k *Pods) IsPod(dp api.Ref) bool {
	namespace, name := dp.Namespace, dp.Name
	if dot := strings.LastIndex(name, "."); namespace == "" && dot > 0 {
		namespace, name = name[dot+1:], name[:dot]
	}
	p, ok := k.Pod(namespace, name)
	return ok && p.Mesh == dp.Mesh && !p.Ended
}
