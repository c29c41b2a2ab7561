package envoytest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/xds"
)

// Files drives an Envoy from files instead of a control plane: what a sidecar
// holds is written down, and what comes over ADS comes from there.
type Files struct {
	*Envoy
	t       testing.TB
	dir     string
	version int
}

// Drive starts an Envoy with s and waits until it is live.
func Drive(t testing.TB, s *xds.State) *Files {
	t.Helper()
	f := &Files{t: t, dir: Dir(t)}
	f.Set(s)
	admin := Socket(t)
	b := Bootstrap(admin, nil)
	b.DynamicResources = &bootstrapv3.Bootstrap_DynamicResources{
		CdsConfig: f.source("cds"), LdsConfig: f.source("lds"),
	}
	f.Envoy = Start(t, admin, JSON(t, b)).Ready()
	return f
}

// Set puts s in the place of what the Envoy has; Envoy takes it a moment later.
func (f *Files) Set(s *xds.State) {
	f.t.Helper()
	f.version++
	f.write("eds", s.Endpoints)
	f.write("cds", s.Clusters)
	f.write("rds", s.Routes)
	f.write("lds", s.Listeners)
}

func (f *Files) path(api string) string { return filepath.Join(f.dir, api+".pb") }

func (f *Files) source(api string) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: f.path(api)},
		},
	}
}

// write replaces the file of one type at once, for Envoy watches moves.
func (f *Files) write(api string, resources []*xds.Resource) {
	f.t.Helper()
	out := &discoveryv3.DiscoveryResponse{VersionInfo: strconv.Itoa(f.version)}
	for _, r := range resources {
		m, err := r.Any.UnmarshalNew()
		if err != nil {
			f.t.Fatal(err)
		}
		f.redirect(m.ProtoReflect(), map[string]string{"lds": "rds", "cds": "eds"}[api])
		a, err := anypb.New(m)
		if err != nil {
			f.t.Fatal(err)
		}
		out.Resources = append(out.Resources, a)
	}
	b, err := proto.Marshal(out)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(api)+".new", b, 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path(api)+".new", f.path(api)); err != nil {
		f.t.Fatal(err)
	}
}

// redirect makes every config source below m one of the files, in packed
// messages too.
func (f *Files) redirect(m protoreflect.Message, api string) {
	switch v := m.Interface().(type) {
	case *corev3.ConfigSource:
		proto.Reset(v)
		proto.Merge(v, f.source(api))
		return
	case *anypb.Any:
		inner, err := v.UnmarshalNew()
		if err != nil {
			f.t.Fatal(err)
		}
		f.redirect(inner.ProtoReflect(), api)
		if err := v.MarshalFrom(inner); err != nil {
			f.t.Fatal(err)
		}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					f.redirect(v.Message(), api)
					return true
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				f.redirect(v.List().Get(i).Message(), api)
			}
		default:
			f.redirect(v.Message(), api)
		}
		return true
	})
}
