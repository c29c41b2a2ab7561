package mtls

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/world"
)

// TestARecordIsSmall: there is one for each sidecar. Memory is given out by classes of sizes, of which
// the one after 80 bytes is 96: one field more may cost two.
func TestARecordIsSmall(t *testing.T) {
	t.Parallel()
	if is := unsafe.Sizeof(record{}); is > 80 {
		t.Errorf("a record has %d bytes, more than its class of 80", is)
	}
}

// TestRecords: what is known of a dataplane is what was told of it last, whatever becomes of its leaf;
// and a leaf is kept until it has ended, whatever becomes of what was told. It is of the dataplane that
// it was given to last of those that a sidecar calls alike.
func TestRecords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &IssuedCertificates{records: &records{}}
		now := time.Unix(1_700_000_000, 0)
		given, told := map[api.Ref]time.Time{}, map[api.Ref]uint32{}
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			dp := rapid.SampledFrom([]api.Ref{{Name: "a"}, {Name: "b"}, {Name: "a", Namespace: "b"}, {Name: "a.b"}}).Draw(t, "dataplane")
			dp.Kind, dp.Mesh = api.KindDataplane, "default"
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				ends := now.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "life")) * time.Second)
				l.gave(dp, newWorkloadCert(api.Ref{Kind: api.KindMesh, Name: "default"}, "root", ends))
				for other, until := range given { // whose sidecar may be the same
					if other.AsNode() == dp.AsNode() {
						delete(given, other)
						ends = time.Unix(max(ends.Unix(), until.Unix()), 0)
					}
				}
				given[dp] = ends
			case 1:
				l.entry(dp.AsNode()).certificates = uint32(n)
				told[dp.AsNode()] = uint32(n)
			case 2:
				l.forget(dp.AsNode(), now)
				delete(told, dp.AsNode())
			case 3:
				now = now.Add(time.Second)
				l.expire(now)
			}
			maps.DeleteFunc(given, func(_ api.Ref, ends time.Time) bool { return !ends.After(now) })
			l.are(t, now, given, told)
		}
		l.expire(now.Add(time.Minute))
		for name := range told {
			l.forget(name, now)
		}
		if l.dataplanes.n != 0 {
			t.Fatalf("%d records are left of nothing", l.dataplanes.n)
		}
	})
}

// are checks who has a leaf that is good, and of whom what is known.
func (l *IssuedCertificates) are(t *rapid.T, now time.Time, given map[api.Ref]time.Time, told map[api.Ref]uint32) {
	ends, counts := map[api.Ref]time.Time{}, map[api.Ref]uint32{}
	for dp, x := range l.good(now) {
		ends[dp] = x.ends.time()
	}
	for name, i := range l.insights() {
		if counts[name] = i.certificates; l.insight(name) != i {
			t.Fatalf("%v has two insights", name)
		}
	}
	if !maps.EqualFunc(ends, given, time.Time.Equal) || !maps.Equal(counts, told) {
		t.Fatalf("leaves end %v, not %v; told is %v, not %v", ends, given, counts, told)
	}
}

// givenForAnHour is a control plane by a clock, which has given a dataplane that it does not know a
// certificate of an owner's root for an hour.
func givenForAnHour(t *testing.T, now *time.Time) (p *Insights, owner, dp api.Ref) {
	t.Helper()
	p = unserved(t)
	p.Now = func() time.Time { return *now }
	owner, dp = api.Ref{Kind: api.KindMesh, Name: "default"}, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web-1"}
	p.Parts.issued.gave(dp, newWorkloadCert(owner, "root", now.Add(time.Hour)))
	return p, owner, dp
}

// TestALeafAloneIsNoInsight: a dataplane of which nothing is known but that it was given a certificate
// is one of which nothing is known, to all but rotations.
func TestALeafAloneIsNoInsight(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	p, owner, dp := givenForAnHour(t, &now)
	m, _ := world.Compile(snapshot.New(1))
	unknown := func(when string) {
		t.Helper()
		x := p
		_, secured := x.Secured(dp)
		told, _ := x.PeerState(dp, true)
		_, changes := x.one(m, dp, now, nil)
		x.write()
		text, err := os.ReadFile(filepath.Join(p.DataDir, identitiesFile))
		if secured || told != nil || changes || err != nil || strings.Contains(string(text), dp.Name) || len(x.All()) != 0 || x.Root(dp) != "" || x.Told(dp).Identity {
			t.Errorf("%s something is known: %v, %s %v", when, x.All(), text, err)
		}
		for s := range p.Parts.issued.all(owner) {
			if s.Name != dp.Name || s.Root != "root" || !s.Ends.Equal(now.Add(time.Hour)) {
				t.Errorf("%s its leaf is %+v", when, s)
			}
		}
		if p.records.dataplanes.n != 1 {
			t.Errorf("%s there are %d records, and a leaf is good", when, p.records.dataplanes.n)
		}
	}
	unknown("while nothing was told")
	p.Given(dp, authorities.ProvenCertificate{Owner: owner, Root: "root", Names: []string{"spiffe://default/web"}, Issued: now, Ends: now.Add(time.Hour)})
	if _, ok := p.Secured(dp); !ok || p.Root(dp) != "root" {
		t.Error("what was told is not known")
	}
	p.one(m, dp, now, nil) // which has no such dataplane
	unknown("after the dataplane is gone")
	now = now.Add(time.Hour)
	for s := range p.Parts.issued.all(owner) {
		t.Errorf("a leaf that has ended is %+v", s)
	}
	if n := p.records.dataplanes.n; n != 0 {
		t.Errorf("%d records are left of nothing", n)
	}
}

// TestALeafThatHasEnded: the insight stays, and the record goes with the dataplane.
func TestALeafThatHasEnded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	p, _, dp := givenForAnHour(t, &now)
	m, _ := world.Compile(snapshot.New(1))
	p.OverADS(dp, true)
	now = now.Add(time.Hour)
	p.Sweep()
	if x := p.records.dataplanes.get(dp); x == nil || x.leaf != (workloadCert{}) || !x.insight.overADS {
		t.Errorf("after its leaf has ended: %+v", x)
	}
	if p.one(m, dp, now, nil); p.records.dataplanes.n != 0 {
		t.Error("its record is left")
	}
}
