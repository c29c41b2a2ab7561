package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

var (
	errTaken   = errors.New("another replica leads")
	errUnknown = errors.New("the Lease cannot be read")
)

// held is a Lease.
type held struct{ object *unstructured.Unstructured }

func (h *held) text(field string) string {
	s, _, _ := unstructured.NestedString(h.object.Object, "spec", field)
	return s
}

func (h *held) number(field string) int64 {
	n, _, _ := unstructured.NestedInt64(h.object.Object, "spec", field)
	return n
}

// holder is who has the Lease; nobody is empty.
func (h *held) holder() string { return h.text("holderIdentity") }

// duration is how long it stands unrenewed, as its holder has said.
func (h *held) duration() time.Duration {
	return time.Duration(h.number("leaseDurationSeconds")) * time.Second
}

// same reports whether two versions say the same of who holds it since when.
func (h *held) same(o *held) bool {
	for _, f := range []string{"holderIdentity", "acquireTime", "renewTime"} {
		if h.text(f) != o.text(f) {
			return false
		}
	}
	return h.duration() == o.duration()
}

// observe takes the newest version of the Lease.
func (e *Elector) observe(now *held) {
	if e.seen == nil || !e.seen.same(now) {
		e.since = time.Now()
	}
	e.seen = now
}

// try gets the Lease if nobody has it: errTaken where somebody does.
func (e *Elector) try(ctx context.Context) error {
	object, err := e.lease.Get(ctx, e.cfg.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		e.seen = nil
		return e.write(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	now := &held{object}
	e.observe(now)
	if h := now.holder(); h != "" && h != e.cfg.Identity && time.Now().Before(e.expires()) {
		return errTaken
	}
	return e.write(ctx, now)
}

// renew says that this replica goes on leading: with the version of the Lease that it wrote
// last, and where somebody has written another, such as an annotation, with that one.
func (e *Elector) renew(ctx context.Context) error {
	err := e.write(ctx, e.seen)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	object, err := e.lease.Get(ctx, e.cfg.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return e.write(ctx, nil)
	}
	if err != nil {
		return err
	}
	e.observe(&held{object})
	if e.seen.holder() != e.cfg.Identity {
		return errTaken
	}
	return e.write(ctx, e.seen)
}

// write makes this replica the holder, from a version of the Lease that no one else has
// changed since; nil where there is none. Annotations of others stay.
func (e *Elector) write(ctx context.Context, before *held) error {
	started := time.Now()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": e.cfg.Name, "namespace": e.cfg.Namespace}}}
	spec := map[string]any{"holderIdentity": e.cfg.Identity, "leaseDurationSeconds": int64(Duration / time.Second),
		"renewTime": micro(started), "acquireTime": micro(started), "leaseTransitions": int64(0)}
	if before != nil {
		object = before.object.DeepCopy()
		object.SetManagedFields(nil)
		spec["leaseTransitions"] = before.number("leaseTransitions")
		if before.holder() == e.cfg.Identity {
			spec["acquireTime"] = before.text("acquireTime")
		} else {
			spec["leaseTransitions"] = before.number("leaseTransitions") + 1
		}
	}
	object.Object["spec"] = spec
	e.annotate(object)
	after, err := e.send(ctx, object, before == nil)
	if err != nil {
		return err
	}
	e.observe(&held{after})
	e.fence.extend(started.Add(Renewal))
	return nil
}

// annotate writes what the leader has to say.
func (e *Elector) annotate(object *unstructured.Unstructured) {
	if e.cfg.Says == nil {
		return
	}
	all := object.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	for name, text := range e.cfg.Says() {
		if all[name] = text; text == "" {
			delete(all, name)
		}
	}
	object.SetAnnotations(all)
}

func (e *Elector) send(ctx context.Context, object *unstructured.Unstructured, first bool) (*unstructured.Unstructured, error) {
	if first {
		return e.lease.Create(ctx, object, metav1.CreateOptions{})
	}
	return e.lease.Update(ctx, object, metav1.UpdateOptions{})
}

// release gives the Lease back, so that another replica need not wait. That it fails costs
// the others a wait.
func (e *Elector) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	object := e.seen.object.DeepCopy()
	object.SetManagedFields(nil)
	now := micro(time.Now())
	object.Object["spec"] = map[string]any{"holderIdentity": "", "leaseDurationSeconds": int64(1), "renewTime": now, "acquireTime": now,
		"leaseTransitions": e.seen.number("leaseTransitions")}
	if _, err := e.lease.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		e.cfg.Log.Warn("the Lease of the leader was not given back; another replica gets it when it has expired", "error", err)
	}
}

// micro is a time as Leases have it.
func micro(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }
