package leader

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/store"
)

// What leaders have done once they leave as annotations to those after them, so that what users
// delete afterwards stays deleted (spec/kubernetes.md 6.2).
const (
	memoMesh = "weft.io/default-mesh" // "created", or "found" where there was a mesh
	// memoPermissions are the names of meshes that prove who calls, since the permission for all
	// was created that they may lack, separated by commas.
	memoPermissions = "weft.io/default-permissions-for"
	memoPolicies    = "weft.io/default-policies-for" // names of meshes, separated by commas
)

// Defaults creates mesh default in a cluster without any mesh, and the default policies of
// each mesh in the namespace of the control plane: each once.
type Defaults struct{ DefaultsConfig }

// DefaultsConfig are what they are made by.
type DefaultsConfig struct {
	Store        store.Store
	Writer       ObjectWriter
	Leader       store.Leader // whose annotations say what was done
	FirstMesh    *api.Object  // mesh default
	SkipPolicies bool         // no default policies are created
	Namespace    string       // of the control plane
	Log          *slog.Logger
}

// ObjectWriter writes objects of a cluster, each where nobody else has been faster: else the error is a
// store.ErrExists, ErrChanged or ErrGone. It is a store.ErrNotServed where the cluster lacks the kind.
type ObjectWriter interface {
	// Create creates an object of which there is none.
	Create(ctx context.Context, o *api.Object) error
	// Put makes the object of the same ResourceVersion say the same, and tells its version then.
	Put(ctx context.Context, o *api.Object) (version string, err error)
}

func NewDefaults(by DefaultsConfig) Defaults { return Defaults{by} }

// uninstalled is how often it is tried again while the cluster lacks the kinds for it.
const uninstalled = 5 * time.Second

// Run does it whenever a mesh appears, until ctx ends.
func (f Defaults) Run(ctx context.Context) error {
	now, watch := f.Store.Watch()
	defer watch.Stop()
	admission.Renewals(now, f.Log) // once, for what it says of those that stay
	for {
		err := f.create(ctx, now)
		if err != nil && !errors.Is(err, store.ErrNotServed) {
			return err
		}
		if now, err = f.wait(ctx, watch, err != nil); err != nil {
			return err
		}
	}
}

// wait waits until a mesh changes, or, to try it again, for a while.
func (f Defaults) wait(ctx context.Context, watch store.Watch, again bool) (*snapshot.Snapshot, error) {
	waiting, stop := ctx, context.CancelFunc(func() {})
	if again {
		waiting, stop = context.WithTimeout(ctx, uninstalled)
	}
	defer stop()
	for {
		now, changes, err := watch.Next(waiting)
		if err != nil && again && waiting.Err() != nil && ctx.Err() == nil {
			return f.Store.Snapshot(), nil
		}
		if err != nil || slices.ContainsFunc(changes, func(c snapshot.Change) bool {
			return c.Ref().Kind == api.KindMesh || c.Ref().Kind == api.KindMeshIdentity
		}) {
			return now, err
		}
	}
}

// create creates what is missing beside the meshes that there are now.
func (f Defaults) create(ctx context.Context, now *snapshot.Snapshot) error {
	var meshes []*api.Object
	for o := range now.OfKind(api.KindMesh) {
		if o.ResourceVersion != "" { // of the cluster, not provided by the store
			meshes = append(meshes, o)
		}
	}
	if err := f.mesh(ctx, len(meshes) > 0); err != nil {
		return err
	}
	if err := f.renew(ctx, now); err != nil {
		return err
	}
	for _, m := range meshes {
		if err := f.policies(ctx, now, m); err != nil {
			return err
		}
		if err := f.permission(ctx, now, m.Name); err != nil {
			return err
		}
	}
	return nil
}

// mesh creates mesh default, unless there is some mesh or was one before.
func (f Defaults) mesh(ctx context.Context, some bool) error {
	memo, err := f.Leader.Annotation(ctx, memoMesh)
	if err != nil || memo != "" {
		return err
	}
	if some {
		return f.Leader.SetAnnotation(ctx, memoMesh, "found")
	}
	err = f.Writer.Create(ctx, f.FirstMesh)
	if errors.Is(err, store.ErrExists) { // it comes by the watch
		return nil
	}
	if err != nil {
		return err
	}
	f.Log.Info("the cluster had no mesh; mesh default was created")
	return f.Leader.SetAnnotation(ctx, memoMesh, "created")
}

// policies creates the default policies of a mesh, unless that was done before. Those that
// somebody has put into some namespace already stay alone.
func (f Defaults) policies(ctx context.Context, now *snapshot.Snapshot, mesh *api.Object) error {
	memo, err := f.Leader.Annotation(ctx, memoPolicies)
	if err != nil {
		return err
	}
	done := strings.FieldsFunc(memo, func(r rune) bool { return r == ',' })
	if slices.Contains(done, mesh.Name) {
		return nil
	}
	spec, ok := mesh.Spec.(*api.Mesh)
	if ok && !f.SkipPolicies {
		for _, p := range admission.DefaultPolicies(mesh.Name, spec.SkipCreatingInitialPolicies) {
			if stands(now, p.Ref) {
				continue
			}
			o := *p
			o.Namespace = f.Namespace
			if err := f.Writer.Create(ctx, &o); err != nil && !errors.Is(err, store.ErrExists) {
				return err
			}
			f.Log.Info("a default policy was created", "policy", o.Ref.String())
		}
	}
	return f.Leader.SetAnnotation(ctx, memoPolicies, strings.Join(append(done, mesh.Name), ","))
}

// renew rewrites the default policies of the control plane's own namespace that are exactly what an
// earlier release wrote.
func (f Defaults) renew(ctx context.Context, now *snapshot.Snapshot) error {
	for _, w := range admission.Renewals(now, slog.New(slog.DiscardHandler)) {
		if w.Put.Namespace != f.Namespace {
			continue // somebody has copied it there
		}
		o := *w.Put
		before, _ := now.Get(o.Ref)
		o.ResourceVersion = before.ResourceVersion
		if _, err := f.Writer.Put(ctx, &o); err != nil && !errors.Is(err, store.ErrChanged) && !errors.Is(err, store.ErrGone) {
			return err
		}
		f.Log.Info("a default policy of an earlier release was renewed", "policy", o.Ref.String())
	}
	return nil
}

// permission creates the permission for all of a mesh that has begun to prove who calls, and
// says of nobody that he may (spec/identity.md 1.5).
func (f Defaults) permission(ctx context.Context, now *snapshot.Snapshot, mesh string) error {
	memo, err := f.Leader.Annotation(ctx, memoPermissions)
	if err != nil {
		return err
	}
	done := strings.FieldsFunc(memo, func(r rune) bool { return r == ',' })
	at := slices.Index(done, mesh)
	switch proves := admission.Proves(now, mesh); {
	case proves == (at >= 0):
		return nil
	case !proves:
		return f.Leader.SetAnnotation(ctx, memoPermissions, strings.Join(slices.Delete(done, at, at+1), ","))
	}
	if admission.LacksPermission(now, mesh) && !f.SkipPolicies {
		o := *admission.DefaultPermission(mesh)
		o.Namespace = f.Namespace
		if err := f.Writer.Create(ctx, &o); err != nil && !errors.Is(err, store.ErrExists) {
			return err
		}
		f.Log.Info("the mesh proves who calls and no document says who may; a permission for all was created", "policy", o.Ref.String())
	}
	return f.Leader.SetAnnotation(ctx, memoPermissions, strings.Join(append(done, mesh), ","))
}

// stands reports whether some namespace has an object of that kind, mesh and name.
func stands(now *snapshot.Snapshot, ref api.Ref) bool {
	for o := range now.Of(ref.Kind, ref.Mesh) {
		if o.Name == ref.Name {
			return true
		}
	}
	return false
}
