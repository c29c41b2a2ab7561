package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/weftmesh/weft/api"
)

// Problems is what is wrong with the newest versions of objects, and what the cluster has
// that cannot be read, in the order of their objects.
func (s *Store) Problems() []*api.Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*api.Violation
	for f := range s.feeds {
		for _, wrong := range f.wrong {
			all = append(all, wrong...)
		}
		if f.denied != nil {
			all = append(all, f.denied)
		}
	}
	for _, u := range s.unserved {
		all = append(all, u.wrong)
	}
	for name, d := range s.defined {
		if v := s.published(name, d); v != nil {
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(a, b *api.Violation) int { return a.Object.Compare(b.Object) })
	return all
}

// The annotations by which definitions say which release they are from.
const (
	weftBundle    = "weft.io/bundle-version"
	gatewayGroup  = "gateway.networking.k8s.io"
	gatewayBundle = gatewayGroup + "/bundle-version"
)

// oldestGateway is the first release of the Gateway API that is read.
var oldestGateway = version.MustParseSemantic("v1.2.0")

func ofDefinition(name, code, message string) *api.Violation {
	return &api.Violation{Object: api.Ref{Kind: definitionsResource.kind, Name: name}, Code: code, Severity: api.Warning, Message: message}
}

// published is the violation of a definition of a kind of weft's that another program has
// put there.
func (s *Store) published(name string, d definition) *api.Violation {
	plural, group := groupOf(name)
	typ, known := s.typeOf(plural, group)
	if !known || group != kuma || typ.Custom == nil || d.annotations[weftBundle] != "" {
		return nil
	}
	return ofDefinition(name, "ForeignDefinition", "the definition is not weft's, so its documents may have fields that weft does not know, and no status; "+
		"put weft's in its place with `weft install crds`")
}

// tooOld is the violation of a definition of a release of the Gateway API that is not read.
func tooOld(name, group string, d definition) *api.Violation {
	v, err := version.ParseSemantic(d.annotations[gatewayBundle])
	if group != gatewayGroup || err != nil || v.AtLeast(oldestGateway) {
		return nil
	}
	return ofDefinition(name, "UnsupportedVersion", fmt.Sprintf("it is of release %s of the Gateway API, and its documents are not read; install %s or later", v, oldestGateway))
}

// notServed is the violation of a definition whose kind the API server does not serve.
func notServed(name string, versions []string) *api.Violation {
	want := "any version"
	if len(versions) > 0 {
		want = strings.Join(versions, " or ")
	}
	return ofDefinition(name, codeNotServed, fmt.Sprintf("the API server serves no %s of it, so its documents are not read; see the conditions of the definition, or install another version of it", want))
}

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
