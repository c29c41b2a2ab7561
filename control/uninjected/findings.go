package uninjected

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/sidecar/inject"
)

// Problem is what is wrong with one owner of pods, or with one namespace.
type Problem struct {
	Owner   PodOwner
	Code    string // NotInjected or InvalidNamespaceLabel
	Field   api.Path
	Message string
}

// PodOwner is what pods belong to: the workload at the top, or the pod itself; or a namespace.
type PodOwner struct {
	APIVersion, Kind, Mesh, Namespace, Name, UID string
}

func (o PodOwner) ref() api.Ref {
	return api.Ref{Kind: o.Kind, Mesh: o.Mesh, Namespace: o.Namespace, Name: o.Name}
}

// found is all that is wrong, in the order of owners. It is nil while nobody knows of
// webhooks; wait is then how long it takes until that is said too.
func (f *Tracker) found() (all []Problem, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.hooks.called {
		return nil, 0
	}
	if wait = settled - f.now().Sub(f.hooks.since); f.hooks.made.IsZero() && wait > 0 {
		return nil, wait
	}
	if f.cached == nil {
		f.cached = f.find()
	}
	return f.cached, 0
}

// find is called with mu held.
func (f *Tracker) find() []Problem {
	out := []Problem{}
	by := map[PodOwner][]*api.Object{}
	for name, s := range f.spaces {
		for _, p := range s.plain {
			if p.wants {
				o := f.owner(p.object)
				by[o] = append(by[o], p.object)
			}
		}
		if s.object != nil {
			out = append(out, f.label(name, s.object)...)
		}
	}
	for owner, pods := range by {
		slices.SortFunc(pods, func(a, b *api.Object) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, Problem{Owner: owner, Code: NotInjected, Message: f.says(owner, pods)})
	}
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(a.Owner.ref().Compare(b.Owner.ref()), strings.Compare(a.Owner.UID, b.Owner.UID), strings.Compare(a.Code, b.Code))
	})
	return out
}

// label is what is wrong with a namespace whose label says neither yes nor no.
func (f *Tracker) label(name string, o *api.Object) []Problem {
	if inject.Decide(inject.PodOf(&api.Object{Spec: &api.Pod{}}), namespaceOf(o), f.config).Code != InvalidNamespaceLabel {
		return nil
	}
	return []Problem{{Owner: PodOwner{APIVersion: "v1", Kind: api.KindNamespace, Name: name, UID: o.UID()}, Code: InvalidNamespaceLabel,
		Field:   "metadata.labels[" + inject.LabelInjection + "]",
		Message: fmt.Sprintf("%q is no answer, so pods of the namespace get no sidecar; write enabled or disabled", redact.Clip(o.Labels[inject.LabelInjection]))}}
}

// owner is what a pod belongs to: the Deployment above its ReplicaSet, the CronJob above its
// Job, else its first owner, else the pod itself.
func (f *Tracker) owner(pod *api.Object) PodOwner {
	out := PodOwner{APIVersion: "v1", Kind: pod.Kind, Mesh: pod.Mesh, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID()}
	at := pod
	for range 2 {
		if at.Meta == nil || len(at.Meta.Owners) == 0 {
			break
		}
		first := at.Meta.Owners[0]
		out.APIVersion, out.Kind, out.Name, out.UID = first.APIVersion, first.Kind, first.Name, first.UID
		if first.Kind != api.KindReplicaSet && first.Kind != api.KindJob {
			break
		}
		above, ok := f.latest.Get(api.Ref{Kind: first.Kind, Mesh: pod.Mesh, Namespace: pod.Namespace, Name: first.Name})
		if !ok {
			if above, ok = f.latest.Get(api.Ref{Kind: first.Kind, Mesh: api.DefaultMesh, Namespace: pod.Namespace, Name: first.Name}); !ok {
				break
			}
		}
		at = above
	}
	return out
}

// says is what is wrong with pods of one owner, and what to do.
func (f *Tracker) says(owner PodOwner, pods []*api.Object) string {
	older := 0
	for _, p := range pods {
		if p.Created.Before(f.hooks.made) {
			older++
		}
	}
	var why []string
	if older > 0 {
		why = append(why, CreatedBeforeInjector+": "+f.some(owner, pods, older)+" older than the webhooks")
	}
	if past := len(pods) - older; past > 0 {
		text := Bypassed + ": " + f.some(owner, pods, past)
		if f.hooks.made.IsZero() {
			why = append(why, text+" made while there are no webhooks, which `weft install control-plane` prints")
		} else {
			why = append(why, text+" made past the webhooks, or before its label or the namespace's")
		}
	}
	return strings.Join(why, "; ") + "; " + remedy(owner) + fmt.Sprintf(" (`weft inject explain %s/%s` says what it gets)", owner.Namespace, pods[0].Name)
}

// some names pods of an owner.
func (f *Tracker) some(owner PodOwner, pods []*api.Object, n int) string {
	switch {
	case owner.Kind == api.KindPod:
		return "it has no sidecar, and is"
	case n == 1 && len(pods) == 1:
		return "its pod " + pods[0].Name + " has no sidecar, and is"
	case n == 1:
		return "1 of its pods has no sidecar, and is"
	case n == len(pods):
		return fmt.Sprintf("%d of its pods, such as %s, have no sidecar, and are", n, pods[0].Name)
	}
	return fmt.Sprintf("%d of its pods have no sidecar, and are", n)
}

// remedy is how the pods of an owner get sidecars.
func remedy(o PodOwner) string {
	switch o.Kind {
	case "Deployment", "StatefulSet", "DaemonSet":
		return fmt.Sprintf("restart it, as by `kubectl rollout restart %s/%s -n %s`", strings.ToLower(o.Kind), o.Name, o.Namespace)
	case "CronJob":
		return "the pods of its next run get one"
	case api.KindPod:
		return "make it anew"
	}
	return "delete them, so that they are made anew"
}
