package mtls

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
)

// TestHeldInLessSpace: what is kept of a certificate says what it was made of, in whole seconds, and
// tells apart what differs.
func TestHeldInLessSpace(t *testing.T) {
	t.Parallel()
	held := func(t *rapid.T) authorities.ProvenCertificate {
		text := rapid.SampledFrom([]string{"", "a", "b"})
		at := func(what string) time.Time {
			return time.Unix(rapid.Int64Range(1_700_000_000, 1_700_000_002).Draw(t, what), rapid.Int64Range(0, 1e9-1).Draw(t, what+" and"))
		}
		return authorities.ProvenCertificate{Owner: api.Ref{Kind: api.KindMesh, Name: text.Draw(t, "owner")}, Root: text.Draw(t, "root"),
			Names: rapid.SliceOfN(text, 0, 3).Draw(t, "names"), Issued: at("issued"), Ends: at("ends")}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := held(t), held(t)
		x, y := newHeldCert(a), newHeldCert(b)
		if got := x.held(); got.Owner != a.Owner || got.Root != a.Root || !slices.Equal(got.Names, a.Names) ||
			got.Issued.Unix() != a.Issued.Unix() || got.Ends.Unix() != a.Ends.Unix() {
			t.Fatalf("%+v, not %+v", got, a)
		}
		other := a.Root != b.Root || a.Issued.Unix() != b.Issued.Unix() || a.Ends.Unix() != b.Ends.Unix()
		if x.other(y) != other {
			t.Fatalf("another certificate: %v; %+v, %+v", !other, a, b)
		}
		i, names := &insight{held: x}, slices.Equal(a.Names, b.Names)
		if later := b.Issued.Unix() > a.Issued.Unix(); i.yields(y, true) != later || i.yields(y, false) != (other || !names) {
			t.Fatalf("later: %v, another: %v, the same names: %v; %+v, %+v", later, other, names, a, b)
		}
		if end := a.Ends.Truncate(time.Second); x.valid(end) || !x.valid(end.Add(-1)) {
			t.Fatalf("it does not end at %v", end)
		}
	})
}

// TestTimesBeyondSeconds: a time that is too early or too late to be said is the nearest one that is
// not, so that no order is turned around.
func TestTimesBeyondSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1900-01-01T00:00:00Z": "1970-01-01T00:00:00Z",
		"2026-08-01T12:00:00Z": "2026-08-01T12:00:00Z",
		"9999-12-31T23:59:59Z": "2106-02-07T06:28:15Z",
	} {
		at, err := time.Parse(time.RFC3339, text)
		if is := secondOf(at).time().UTC().Format(time.RFC3339); err != nil || is != want {
			t.Errorf("%s is %s, not %s: %v", text, is, want, err)
		}
	}
	if got := newHeldCert(authorities.ProvenCertificate{}); got == (heldCert{}) || got.valid(time.Now()) || len(got.held().Names) != 0 {
		t.Errorf("a certificate that says nothing is %+v", got)
	}
}
