package mtls_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/terminal"
)

// An authority outside is told as what it is: by whom its roots are believed, and who lacks a
// certificate of it.
func TestTextOfAnAuthorityOutside(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := mtls.Authorities{Mesh: "default", Items: []mtls.Authority{{
		Of: "MeshIdentity/default/spire", Provider: "Spire", TrustDomain: "prod.example.org", Problem: "its roots are those of before, for nothing newer is known: gone",
		Roots: []mtls.AuthorityRoot{
			{Fingerprint: strings.Repeat("ab", 32), NotAfter: time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC), Role: mtls.RootTrusted, Certificates: 3, Said: []string{"MeshTrust/default/ours", "the Workload API of the control plane"}},
		},
		Lacking: []mtls.Lacking{{Code: "NoSVID", Count: 2}},
	}}}.Text(&out, terminal.Style{})
	if err != nil {
		t.Fatal(err)
	}
	want := `MeshIdentity/default/spire  Spire of prod.example.org
  root by MeshTrust/default/ours, the Workload API of the control plane  trusted  abababababababab  until 2030-01-02  certificates of 3 sidecars
  its roots are those of before, for nothing newer is known: gone
  2 without a certificate: NoSVID
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// What a rotation waits for is told: sidecars by their names, or else until when.
func TestTextOfAWait(t *testing.T) {
	t.Parallel()
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, wait := range map[string]mtls.AuthorityWait{
		"waits for 1 sidecar: web-1; until 2030-01-02T03:04:05Z at most":                                    {Count: 1, Names: []string{"web-1"}, Until: until},
		"waits for 2 sidecars: web-1, …; until 2030-01-02T03:04:05Z at most":                                {Count: 2, Names: []string{"web-1"}, Until: until},
		"waits until 2030-01-02T03:04:05Z for certificates that sidecars may hold which are not known here": {Until: until},
	} {
		var out strings.Builder
		if err := (mtls.Authority{Of: "Mesh/default", Phase: "Settling", WaitsFor: &wait, Roots: []mtls.AuthorityRoot{{Backend: "ca-1", Role: "leaving", Certificates: 1}}}).Text(&out, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		if got := "Mesh/default  Settling\n  root ca-1  leaving  certificates of 1 sidecar\n  " + want + "\n"; out.String() != got {
			t.Errorf("%q, want %q", out.String(), got)
		}
	}
}
