package envoytest

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/xds/resource"
)

// Files drives an Envoy from files instead of a control plane: what a sidecar
// holds is written down, and what comes over ADS comes from there.
type Files struct {
	*Envoy
	t       testing.TB
	dir     string
	version int
}

// Drive starts an Envoy with s and waits until it is live. It knows secrets as those of
// its bootstrap.
func Drive(t testing.TB, s *resource.State, secrets ...*tlsv3.Secret) *Files {
	t.Helper()
	f := &Files{t: t, dir: Dir(t)}
	f.Set(s)
	admin := Socket(t)
	b := Bootstrap(admin, &bootstrapv3.Bootstrap_StaticResources{Secrets: secrets})
	b.DynamicResources = &bootstrapv3.Bootstrap_DynamicResources{
		CdsConfig: f.source("cds"), LdsConfig: f.source("lds"),
	}
	f.Envoy = Start(t, admin, JSON(t, b)).Ready()
	return f
}

// Set puts s in the place of what the Envoy has; Envoy takes it a moment later.
func (f *Files) Set(s *resource.State) {
	f.t.Helper()
	f.version++
	for _, r := range s.Endpoints {
		f.write(file("eds", r.Name), []*resource.Resource{r})
	}
	f.write("cds", s.Clusters)
	for _, r := range s.Routes {
		f.write(file("rds", r.Name), []*resource.Resource{r})
	}
	f.write("lds", s.Listeners)
}

// file is for one resource of a type of which Envoy takes one from a file.
func file(api, name string) string { return api + "-" + hex.EncodeToString([]byte(name)) }

func (f *Files) path(file string) string { return filepath.Join(f.dir, file+".pb") }

func (f *Files) source(file string) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: f.path(file)},
		},
	}
}

// write replaces a file at once, for Envoy watches moves.
func (f *Files) write(file string, resources []*resource.Resource) {
	f.t.Helper()
	out := &discoveryv3.DiscoveryResponse{VersionInfo: strconv.Itoa(f.version)}
	for _, r := range resources {
		m, err := r.Content().UnmarshalNew()
		if err != nil {
			f.t.Fatal(err)
		}
		f.redirect(m)
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
	if err := os.WriteFile(f.path(file)+".new", b, 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path(file)+".new", f.path(file)); err != nil {
		f.t.Fatal(err)
	}
}

// redirect makes the sources of routes and endpoints below m files, in packed
// messages too.
func (f *Files) redirect(m proto.Message) {
	within(f.t, m.ProtoReflect(), func(m proto.Message) {
		switch v := m.(type) {
		case *hcmv3.Rds:
			v.ConfigSource = f.source(file("rds", v.RouteConfigName))
		case *clusterv3.Cluster:
			if v.EdsClusterConfig != nil {
				v.EdsClusterConfig.EdsConfig = f.source(file("eds", v.Name))
			}
		}
	})
}
