package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weftmesh/weft/api"
)

// deny takes that the API server lets nobody read a part of a resource that an installation may
// or may not have granted: Secrets of a namespace. It counts as read, and as empty if nothing
// was read before, with a problem that says what to grant; else one missing Role would keep
// all that there is from being served. It is false for any other failure.
func (f *feed) deny(ctx context.Context, err error) bool {
	if f.kind != api.KindSecret || !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		return false
	}
	if !f.lasts() {
		return true
	}
	f.of.mu.Lock()
	why := f.denial(err)
	if f.denied == nil || f.denied.Message != why {
		f.denied = &api.Violation{Object: api.Ref{Kind: api.KindNamespace, Name: f.namespace}, Code: "SecretsDenied", Severity: api.Warning, Message: why}
		f.of.refusals++
		f.of.cfg.Log.Warn("Secrets of a namespace cannot be read; those that were read stay in force", "namespace", f.namespace, "error", err)
	}
	if !f.synced {
		f.synced = true
		f.of.notify()
	}
	delete(f.of.away, f.connection)
	f.of.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(seldom):
	}
	return true
}

// lasts reports whether it could not be read for so long that it is no API server which has not
// read its own rules yet.
func (f *feed) lasts() bool {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.refused.IsZero() {
		f.refused = time.Now()
	}
	return time.Since(f.refused) >= longest
}

// allow takes that it is read now. It is called with mu held.
func (f *feed) allow() {
	f.refused = time.Time{}
	if f.denied != nil {
		f.denied = nil
		f.of.refusals++
		f.of.cfg.Log.Info("Secrets of a namespace are read now", "namespace", f.namespace)
	}
}

func (f *feed) denial(err error) string {
	if f.selector != "" {
		return fmt.Sprintf("the Secrets of authorities cannot be read, so workloads are issued no certificates (%v); install the rights of this release by `weft install control-plane`, or upgrade the chart", err)
	}
	return fmt.Sprintf("its Secrets cannot be read, so no listener shows their certificates (%v); grant the control plane get, list and watch of secrets in this namespace, "+
		"as the value secrets.namespaces does, or take the namespace out of --secret-namespaces", err)
}
