package kube

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/weftmesh/weft/api"
)

// resource is what one feed follows: a resource of one namespace, or of all.
type resource struct {
	schema.GroupVersionResource
	kind      string
	namespace string // empty for all, and for what has none
	selector  string // by fields
}

// reader makes an object of what the API server sent: nil where that is not sound.
type reader func(obj any) (*api.Object, []*api.Violation)

// feed keeps what the API server says of one resource. It is the store of a reflector,
// which calls it from one goroutine.
type feed struct {
	*connection
	read   reader
	report func(obj any) *Report // nil where none is kept

	// Guarded by of.mu.
	objects map[string]*api.Object      // the last sound versions, by namespace/name
	wrong   map[string][]*api.Violation // what is wrong with the newest ones
	refused time.Time                   // since when the API server does not let it be read; zero while it does
	denied  *api.Violation              // that, once it is so for long enough
	synced  bool
	ended   bool
	at      uint64 // the version of the resource up to which it was heard
	newest  uint64 // the version of what has changed last
}

var _ cache.ReflectorStore = (*feed)(nil)

// taken is one state of an object as the API server has it.
type taken struct {
	object *api.Object // nil where it is not sound
	wrong  []*api.Violation
	report *Report
}

func (f *feed) taken(obj any) taken {
	var v taken
	if f.report != nil {
		v.report = f.report(obj) // before read takes it apart
	}
	v.object, v.wrong = f.read(obj)
	if v.report != nil {
		v.report.Refused = v.object == nil && slices.ContainsFunc(v.wrong, func(w *api.Violation) bool { return w.Severity == api.Error })
	}
	return v
}

// Add takes what has appeared.
func (f *feed) Add(obj any) error { return f.take(obj) }

// Update takes what has changed.
func (f *feed) Update(obj any) error { return f.take(obj) }

// Resync does nothing: nobody forgets.
func (f *feed) Resync() error { return nil }

// take takes a new version of an object.
func (f *feed) take(obj any) error {
	key, err := cache.MetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	v := f.taken(obj)
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.put(key, v)
	f.upTo(versionOf(obj))
	f.of.notify()
	return nil
}

// Delete takes away what is gone.
func (f *feed) Delete(obj any) error {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.objects[key] != nil {
		f.changedAt(versionOf(obj))
	}
	f.remove(key)
	f.upTo(versionOf(obj))
	f.of.notify()
	return nil
}

// Replace takes everything that there is: at the beginning, and where events were missed.
// What did not change is not touched.
func (f *feed) Replace(list []any, version string) error {
	there := make(map[string]taken, len(list))
	for _, obj := range list {
		key, err := cache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			return err
		}
		there[key] = f.taken(obj)
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	for key, v := range there {
		f.put(key, v)
	}
	f.removeBut(func(key string) bool { _, ok := there[key]; return ok })
	f.allOf(version)
	f.allow()
	if !f.synced {
		f.synced = true
		f.of.cfg.Log.Info("read from the cluster", "resource", f.resource.String(), "namespace", f.namespace, "objects", len(list))
	}
	f.of.notify()
	return nil
}

// put keeps the newest version of an object. One that is not sound leaves the last sound
// one in force.
func (f *feed) put(key string, v taken) {
	if f.ended {
		return
	}
	o, wrong := v.object, v.wrong
	f.keep(key, v.report)
	before := f.objects[key]
	if o != nil && before != nil && before.Ref != o.Ref { // it has moved to another mesh
		f.remove(key)
		f.keep(key, v.report)
		before = nil
	}
	f.fault(key, wrong)
	if o == nil || before != nil && before.ResourceVersion == o.ResourceVersion {
		return
	}
	if before == nil {
		f.of.kinds[o.Kind]++
	}
	f.objects[key] = o
	f.of.changed[o.Ref] = o
	f.changedAt(o.ResourceVersion)
}

// fault notes what is wrong with the newest version of an object; nil for nothing.
func (f *feed) fault(key string, wrong []*api.Violation) {
	if !slices.EqualFunc(f.wrong[key], wrong, func(a, b *api.Violation) bool { return a.Error() == b.Error() }) {
		f.of.refusals++
	}
	if len(wrong) == 0 {
		delete(f.wrong, key)
		return
	}
	f.wrong[key] = wrong
}

// remove forgets an object.
func (f *feed) remove(key string) {
	f.fault(key, nil)
	f.keep(key, nil)
	o := f.objects[key]
	if o == nil {
		return
	}
	delete(f.objects, key)
	f.of.kinds[o.Kind]--
	f.of.changed[o.Ref] = nil
	f.changedAt("") // known to who hears of it alone
}

// empty forgets everything, for good.
func (f *feed) empty() {
	f.removeBut(func(string) bool { return false })
	f.ended = true
}

// removeBut forgets all objects, sound or not, but those that stay.
func (f *feed) removeBut(stays func(key string) bool) {
	for key := range f.objects {
		if !stays(key) {
			f.remove(key)
		}
	}
	for key := range f.wrong { // of which there is no sound version
		if !stays(key) {
			f.remove(key)
		}
	}
}

// String is the resource as kubectl calls it.
func (r resource) String() string { return r.Resource + "." + r.Group }

// splitKey takes apart what cache.MetaNamespaceKeyFunc has made.
func splitKey(key string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		return namespace, name
	}
	return "", key
}

// accessor is the metadata of an object.
func accessor(obj any) (namespace, name string) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return "", ""
	}
	return m.GetNamespace(), m.GetName()
}
