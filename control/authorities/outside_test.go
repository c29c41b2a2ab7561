package authorities

import (
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// outsideOf is a MeshIdentity of type Spire.
func outsideOf(name, domain string) *api.Object {
	return &api.Object{Ref: api.Ref{Kind: api.KindMeshIdentity, Mesh: "default", Name: name}, Spec: &api.MeshIdentity{
		SpiffeID: &api.IdentityNames{TrustDomain: &domain}, Provider: &api.IdentityProvider{Type: api.ProviderSpire}}}
}

func trustOf(name, domain string, roots ...*x509.Certificate) *api.Object {
	spec := &api.MeshTrust{TrustDomain: domain}
	for _, c := range roots {
		spec.CABundles = append(spec.CABundles, api.CABundle{Type: "Pem", PEM: &api.PEMBundle{Value: string(workload.CertificateChain{c}.PEM())}})
	}
	return &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: name}, Spec: spec}
}

// TestAuthoritiesOutsideAreShown: of each it is said which roots are believed and by whom, how many
// sidecars have certificates of them, and what is wrong.
func TestAuthoritiesOutsideAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := func(life time.Duration) *x509.Certificate {
		s, err := workload.NewRoot("spire.test", false, life, w.now)
		if err != nil {
			t.Fatal(err)
		}
		return s.Certificate()
	}
	short, long := root(time.Hour), root(24*time.Hour)
	put := func(objects ...*api.Object) {
		t.Helper()
		var writes []store.Write
		for _, o := range objects {
			writes = append(writes, store.Write{Put: o})
		}
		if _, _, err := w.store.Apply(t.Context(), store.Writes(writes...)); err != nil {
			t.Fatal(err)
		}
	}
	put(outsideOf("a", "spire.test"), outsideOf("b", "spire.test"), outsideOf("c", `{{ label "team" }}`))
	stands := func() []Standing {
		w.step()
		return w.keep.Standings("default")
	}
	all := stands()
	if len(all) != 3 || !all[0].Outside || !strings.Contains(all[0].Fault, "apply a MeshTrust") || all[0].Roots != nil || !strings.Contains(all[2].Fault, "trust domain is not known") {
		t.Fatalf("without a root: %+v", all)
	}
	put(trustOf("ours", "spire.test", short), trustOf("other", "other.test", long))
	for _, c := range w.cars {
		c.Root, c.Ends = workload.Fingerprint(short), w.now.Add(time.Hour)
	}
	if all = stands(); all[0].Fault != "" || len(all[0].Roots) != 1 || all[0].Certificates[all[0].Roots[0].Fingerprint] == 0 || !cmp.Equal(all[0].Certificates, all[1].Certificates) {
		t.Errorf("by a document: %+v", all)
	}
	w.keep.Bundles(map[string][]*x509.Certificate{"spire.test": {short, long}, "stranger.test": {long}}, nil)
	want := []StandingRoot{{Fingerprint: workload.Fingerprint(short), Ends: short.NotAfter, Said: []string{"MeshTrust/default/ours", byWorkloadAPI}}, {Fingerprint: workload.Fingerprint(long), Ends: long.NotAfter, Said: []string{byWorkloadAPI}}}
	if diff := cmp.Diff(want, stands()[0].Roots); diff != "" {
		t.Error(diff)
	}
	w.keep.Bundles(nil, errors.New("the Workload API at unix:///x: gone"))
	if all = stands(); len(all[0].Roots) != 2 || !strings.Contains(all[0].Fault, "nothing newer is known: the Workload API at unix:///x") {
		t.Errorf("while it is silent: %+v", all[0])
	}
	w.now = short.NotAfter
	if all = stands(); !strings.Contains(all[0].Roots[0].Fault, "has ended") || all[0].Roots[1].Fault != "" {
		t.Errorf("an ended root: %+v", all[0].Roots)
	}
	w.now = long.NotAfter
	if all = stands(); !strings.Contains(all[0].Fault, "no MeshTrust has the trust domain spire.test") {
		t.Errorf("all have ended: %+v", all[0])
	}
	if _, err := w.keep.Rotate(t.Context(), all[0].Owner, Rotation{}); !errors.Is(err, ErrNoAuthority) {
		t.Errorf("its root is turned: %v", err)
	}
}

// step has the keeper write, and take what was written.
func (w *world) step() {
	w.keep.step(w.t.Context(), w.store)
	w.keep.Take(w.store.Snapshot())
}

// TestOneDomainOfTwoMeshes: what is said in one mesh is believed in no other.
func TestOneDomainOfTwoMeshes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := workload.NewRoot("spire.test", false, time.Hour, w.now)
	if err != nil {
		t.Fatal(err)
	}
	other := outsideOf("a", "spire.test")
	other.Mesh = "second"
	var writes []store.Write
	for _, o := range []*api.Object{outsideOf("a", "spire.test"), other, trustOf("ours", "spire.test", s.Certificate())} {
		writes = append(writes, store.Write{Put: o})
	}
	if _, _, err := w.store.Apply(t.Context(), store.Writes(writes...)); err != nil {
		t.Fatal(err)
	}
	w.step()
	if here, there := w.keep.Standings("default"), w.keep.Standings("second"); len(here) != 1 || here[0].Fault != "" || len(there) != 1 || there[0].Fault == "" || slices.ContainsFunc(there, func(s Standing) bool { return s.Phase != rotation.Phase("") }) {
		t.Errorf("%+v\n%+v", here, there)
	}
}
