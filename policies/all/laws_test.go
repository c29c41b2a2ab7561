package all_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/xds/envoy"
)

var protocols = []api.Protocol{api.HTTP, api.HTTP2, api.GRPC, api.TCP}

// forKinds runs a property for each kind.
func forKinds(t *testing.T, property func(*rapid.T, *policies.Kind)) {
	t.Parallel()
	for _, k := range all.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { property(t, k) })
		})
	}
}

func layer(k *policies.Kind, name string, c policies.Conf) merge.Layer {
	return merge.Layer{Name: merge.Mesh, Origin: &api.Origin{Ref: api.Ref{Kind: k.Name, Name: name}}, Leaves: k.Schema.Read(c)}
}

func TestBuildIsTheInverseOfRead(t *testing.T) {
	forKinds(t, func(t *rapid.T, k *policies.Kind) {
		c := policytest.AnyConf(t, k)
		got := k.Schema.Build(k.New(), merge.Fold([]merge.Layer{layer(k, "a", c)}))
		if diff := cmp.Diff(c, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestWinnersAloneRebuildTheConf(t *testing.T) {
	forKinds(t, func(t *rapid.T, k *policies.Kind) {
		layers := []merge.Layer{}
		for _, name := range []string{"a", "b", "c"} {
			layers = append(layers, layer(k, name, policytest.AnyConf(t, k)))
		}
		e := k.Resolve(layers)
		if e == nil {
			return
		}
		winners := merge.Layer{Origin: &api.Origin{}}
		for _, f := range e.Fields {
			winners.Leaves = append(winners.Leaves, merge.Leaf{Field: f.Field, Value: f.Value()})
		}
		got := k.Schema.Build(k.New(), merge.Fold([]merge.Layer{winners}))
		if diff := cmp.Diff(e.Conf, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAWeakerLayerOnlyFillsGaps(t *testing.T) {
	forKinds(t, func(t *rapid.T, k *policies.Kind) {
		strong := k.Schema.Read(policytest.AnyConf(t, k))
		e := k.Resolve([]merge.Layer{layer(k, "weak", policytest.AnyConf(t, k)), {Name: merge.Route, Origin: &api.Origin{}, Leaves: strong}})
		for _, leaf := range strong {
			f, ok := e.Get(k.Schema.Leaves[leaf.Field].Path)
			if k.Schema.Leaves[leaf.Field].Append && ok {
				all, _ := policies.Items(f.Value())
				own, _ := policies.Items(leaf.Value)
				ok = !slices.ContainsFunc(own, func(x any) bool { return !slices.ContainsFunc(all, func(y any) bool { return cmp.Equal(x, y) }) })
			} else {
				ok = ok && cmp.Equal(f.Value(), leaf.Value)
			}
			if !ok {
				t.Fatalf("%s is lost", k.Schema.Leaves[leaf.Field].Path)
			}
		}
	})
}

func TestDefaultsComeOnlyWithTheirGroup(t *testing.T) {
	forKinds(t, func(t *rapid.T, k *policies.Kind) {
		c := policytest.AnyConf(t, k)
		written := map[string]bool{}
		for _, leaf := range k.Schema.Read(c) {
			written[k.Schema.Leaves[leaf.Field].Group] = true
		}
		e := k.Resolve([]merge.Layer{layer(k, "a", c)})
		if (e == nil) != (len(written) == 0) {
			t.Fatalf("nothing said must be nothing resolved: %v", e)
		}
		if e == nil {
			return
		}
		for _, f := range e.Fields {
			if leaf := k.Schema.Leaves[f.Field]; !written[leaf.Group] {
				t.Fatalf("%s came without its group", leaf.Path)
			}
		}
	})
}

// What a kind says to have no effect with a protocol has none in any object that
// an Envoy has for it.
func TestWhatDoesNotActWritesNothing(t *testing.T) {
	forKinds(t, func(t *rapid.T, k *policies.Kind) {
		e := k.Resolve([]merge.Layer{layer(k, "a", policytest.AnyConf(t, k))})
		if e == nil {
			return
		}
		p := rapid.SampledFrom(protocols).Draw(t, "protocol")
		acting := slices.DeleteFunc(slices.Clone(e.Fields), func(f merge.Field) bool { return !e.Applies(f.Field, p) })
		write := func(c policies.Conf) []proto.Message {
			w := policytest.Write(envoy.Place{Protocol: p}, c)
			if p.HTTPLike() {
				w.TCP = nil
			} else {
				w.Route, w.Manager = nil, nil
			}
			return w.Messages()
		}
		if diff := cmp.Diff(write(e.Conf), write(k.Schema.Build(k.New(), acting)), protocmp.Transform()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestKindsCommute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var confs []policies.Conf
		for _, k := range all.Kinds {
			confs = append(confs, policytest.AnyConf(t, k))
		}
		place := envoy.Place{Protocol: rapid.SampledFrom(protocols).Draw(t, "protocol"), Inbound: rapid.Bool().Draw(t, "inbound")}
		one, other := policytest.Write(place, confs...).Messages(), policytest.Write(place, rapid.Permutation(confs).Draw(t, "order")...).Messages()
		if diff := cmp.Diff(one, other, protocmp.Transform()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestEqualConfsWriteEqualBytes(t *testing.T) {
	forKinds(t, func(t *rapid.T, k *policies.Kind) {
		c := policytest.AnyConf(t, k)
		place := envoy.Place{Protocol: rapid.SampledFrom(protocols).Draw(t, "protocol")}
		for range 3 {
			one, other := policytest.Write(place, c).Messages(), policytest.Write(place, c).Messages()
			for i := range one {
				if a, b := text(t, one[i]), text(t, other[i]); a != b {
					t.Fatal("two renderings of one conf differ")
				}
			}
		}
	})
}

func text(t *rapid.T, m proto.Message) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEachKindWritesSomething(t *testing.T) {
	t.Parallel()
	for _, k := range all.Kinds {
		c := k.New()
		_, route := c.(envoy.RouteWriter)
		_, cluster := c.(envoy.ClusterWriter)
		_, manager := c.(envoy.ManagerWriter)
		_, tcp := c.(envoy.TCPWriter)
		_, network := c.(envoy.NetworkFilterWriter)
		_, guards := c.(envoy.Guard)
		_, metrics := c.(envoy.MetricsTeller)
		if !route && !cluster && !manager && !tcp && !network && !guards && !metrics && k.TransportSecurity == nil {
			t.Errorf("%s writes nothing", k.Name)
		}
	}
}

func TestMergedConfsPassEnvoysOwnValidation(t *testing.T) {
	forKinds(t, func(t *rapid.T, k *policies.Kind) {
		e := k.Resolve([]merge.Layer{layer(k, "a", policytest.AnyConf(t, k)), layer(k, "b", policytest.AnyConf(t, k))})
		if e == nil {
			return
		}
		place := envoy.Place{Protocol: rapid.SampledFrom(protocols).Draw(t, "protocol")}
		for _, m := range policytest.Write(place, e.Conf).Messages() {
			if v, ok := m.(interface{ ValidateAll() error }); ok {
				if err := v.ValidateAll(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
