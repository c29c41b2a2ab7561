package subscription

import (
	"maps"
	"slices"
	"testing"

	library "github.com/envoyproxy/go-control-plane/pkg/server/stream/v3"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/xds/resource"
)

// The tests here are quick, and run one after another: TestNothingIsLeft looks at all goroutines.

// TestLastSentIsWhatTheLibraryWouldKeep: whatever a client subscribes to, unsubscribes from, has
// from before and is sent, a stream notes of it what the library would have noted; but that a
// client which unsubscribes from everything has only what it asks for by name.
func TestLastSentIsWhatTheLibraryWouldKeep(t *testing.T) {
	someNames := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", wildcard}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		delta := rapid.Bool().Draw(t, "delta")
		brought := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "e"}), rapid.SampledFrom([]string{"1", "2.1"})).Draw(t, "brought")
		var theirs, ours library.Subscription // with all that was sent, and with what weft lets it keep
		var want []*resource.Resource
		f := &Subscription{}
		for i := range rapid.IntRange(1, 6).Draw(t, "requests") {
			subscribe, unsubscribe := someNames.Draw(t, "subscribe"), someNames.Draw(t, "unsubscribe")
			switch {
			case delta && i == 0:
				theirs = library.NewDeltaSubscription(subscribe, unsubscribe, maps.Clone(brought), true)
				ours = library.NewDeltaSubscription(subscribe, unsubscribe, nil, true)
				f.last = LastSent{other: maps.Clone(brought)}
			case delta:
				theirs.UpdateResourceSubscriptions(subscribe, unsubscribe)
				ours.UpdateResourceSubscriptions(subscribe, unsubscribe)
			case i == 0:
				theirs, ours = library.NewSotwSubscription(subscribe, true), library.NewSotwSubscription(subscribe, true)
			default:
				theirs.SetResourceSubscription(subscribe)
				ours.SetResourceSubscription(subscribe)
			}
			if delta {
				f.unsubscribe(subscribe, unsubscribe, ours)
				if slices.Contains(unsubscribe, wildcard) && f.named { // of which the library keeps all
					maps.DeleteFunc(theirs.ReturnedResources(), func(name, _ string) bool {
						_, asked := theirs.SubscribedResources()[name]
						return !asked && !theirs.IsWildcard()
					})
				}
			} else {
				f.subscribeOnly(ours)
			}
			if got := maps.Collect(f.last.All()); !maps.Equal(got, theirs.ReturnedResources()) || f.last.Len() != len(got) {
				t.Fatalf("weft has %v, the library %v", got, theirs.ReturnedResources())
			}
			for name := range brought {
				version, ok := f.last.Version(name)
				if want, has := theirs.ReturnedResources()[name]; version != want || ok != has {
					t.Fatalf("of %s weft has %q, %v", name, version, ok)
				}
			}
			if !rapid.Bool().Draw(t, "answered") {
				continue
			}
			want = nil
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID).Draw(t, "want") {
				want = append(want, &resource.Resource{Name: name, Version: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version")})
			}
			Sort(want)
			var sent []Versioned
			next := maps.Clone(theirs.ReturnedResources())
			for _, r := range want {
				if rapid.Bool().Draw(t, "sent") {
					v := Versioned{Resource: r, version: r.Version + rapid.SampledFrom([]string{"", ".3"}).Draw(t, "suffix")}
					sent = append(sent, v)
					next[v.Name] = v.version
				}
			}
			var removed []string
			for _, name := range slices.Sorted(maps.Keys(theirs.ReturnedResources())) {
				if Find(want, name) == nil && rapid.Bool().Draw(t, "removed") {
					removed = append(removed, name)
					delete(next, name)
				}
			}
			before := maps.Collect(f.last.All())
			was := f.last
			f.last = f.last.with(want, sent, removed)
			if !maps.Equal(maps.Collect(was.All()), before) {
				t.Fatal("what the client had changed under its readers")
			}
			theirs.SetReturnedResources(next)
			ours.SetReturnedResources(map[string]string{})
			if got := maps.Collect(f.last.All()); !maps.Equal(got, next) {
				t.Fatalf("after an answer weft has %v, the library %v", got, next)
			}
		}
	})
}

// TestLastSentCostsNothing: a client that has all that it should have costs no list of its own.
func TestLastSentCostsNothing(t *testing.T) {
	want := []*resource.Resource{{Name: "a", Version: "1"}, {Name: "b", Version: "1"}}
	sent := []Versioned{{Resource: want[0], version: "1"}, {Resource: want[1], version: "1"}}
	x := LastSent{}.with(want, sent[:1], nil).with(want, sent[1:], nil)
	if &x.list[0] != &want[0] || x.other != nil {
		t.Errorf("the client has a list of its own: %v", x)
	}
	again := &resource.Resource{Name: "b", Version: "1"} // rendered once more, with the same content
	if y := x.with([]*resource.Resource{want[0], again}, []Versioned{{Resource: again, version: "1"}}, nil); y.list[1] != again {
		t.Errorf("the client has a list of its own: %v", y)
	}
}

// confirm has the client confirm a resource.
func confirm(s *Subscription, v Versioned, want []*resource.Resource) {
	s.Confirm(&Response{Changed: []Versioned{v}}, want)
}

// TestConfirmedSuffixesAreLetGo: what a stream notes of a resource that went out again is gone once
// the client has confirmed it, and the next time it has a version that the client has never seen.
func TestConfirmedSuffixesAreLetGo(t *testing.T) {
	want := []*resource.Resource{{Name: "a", Version: "1"}, {Name: "b", Version: "2"}}
	f := &Subscription{last: LastSent{list: want}}
	seen := map[string]bool{}
	for range 3 {
		f.force("a", "1")
		v := f.versions.as(want[0])
		if seen[v.version] || v.version == "1" {
			t.Fatalf("it goes out as %s again", v.version)
		}
		seen[v.version] = true
		f.last = f.last.with(want, []Versioned{v}, nil)
		f.force("b", "2") // which is on its way
		confirm(f, v, want)
		if had, _ := f.last.Version("a"); had != "1" || len(f.last.other) > 0 || len(f.versions.forced) != 1 || f.versions.as(want[1]).version == "2" {
			t.Fatalf("%+v", f)
		}
		b := f.versions.as(want[1])
		f.last = f.last.with(want, []Versioned{b}, nil)
		if confirm(f, b, want); f.versions.forced != nil || f.last.other != nil || &f.last.list[0] != &want[0] {
			t.Fatalf("%+v", f)
		}
	}
}
