package bolt

import (
	"encoding/json"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
)

// Databases without owners open, and what their sidecars brought along stays
// theirs.
func TestARecordOfTheFirstWeftHasAnOwner(t *testing.T) {
	t.Parallel()
	const guest = "type: Dataplane\nmesh: default\nname: g\nnetworking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: g}}]}\n"
	const service = "type: MeshService\nmesh: default\nname: s\nspec: {ports: [{port: 80}]}\n"
	for _, c := range []struct {
		file, owner, text string
		want              api.Owner
	}{
		{"bootstrap", "", guest, api.Ephemeral},
		{"bootstrap", "user", guest, api.User},
		{"dp.yaml", "", guest, api.User},
		{"bootstrap", "", service, api.User},
		{"x.yaml", "directory", service, api.Directory},
		{"", "guest", guest, api.Ephemeral},
		{"", "of a newer weft", service, api.User},
	} {
		o, err := storetest.Decode(c.file, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		record := map[string]any{"created": o.Created, "modified": o.Modified, "file": c.file, "text": c.text}
		if c.owner != "" {
			record["owner"] = c.owner
		}
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		var b body
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatal(err)
		}
		got, err := b.object(o.Ref, storetest.Decode)
		if err != nil || got.Owner != c.want {
			t.Errorf("%s in %q by %q: owner %d, %v; want %d", o.Ref, c.file, c.owner, got.Owner, err, c.want)
		}
	}
}

// What the store knows beside the text is there after a restart: the revision of
// an object, and labels and status that differ from those of its text.
func TestWhatIsNotInTheTextIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = "# as written\ntype: MeshService\nmesh: default\nname: s\nlabels: {a: b, kuma.io/origin: zone}\nspec: {ports: [{port: 80}]}\n"
	o, err := storetest.Decode("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	adjusted := *o
	adjusted.Labels, adjusted.Adjusted = map[string]string{"a": "b"}, true
	adjusted.Status = &api.ServiceStatus{VIPs: []api.VIP{{IP: "241.0.0.1"}}}
	config := configOf(dir)
	config.Encode = func(o *api.Object) ([]byte, error) { return decode.PrintJSON(api.NewCatalog(api.Types()...), o) }
	s := opened(t, config)
	storetest.Put(t, s, storetest.Service(t, "first", 1))
	storetest.Put(t, s, &adjusted)
	before, _ := s.Snapshot().Get(o.Ref)
	closing(t, s)
	s = opened(t, config)
	defer closing(t, s)
	after, _ := s.Snapshot().Get(o.Ref)
	if !store.Same(before, after) || after.Revision != 2 || string(after.Source.Text) != text || after.Labels["kuma.io/origin"] != "" {
		t.Errorf("labels %v, status %v, revision %d of\n%s", after.Labels, after.Status, after.Revision, after.Source.Text)
	}
	if _, results := storetest.Put(t, s, &adjusted); results[0].Action != store.Unchanged {
		t.Errorf("the same again: %s", results[0].Action)
	}
}

// The checksum is the standard one (CRC-32C), so that files of one weft are
// those of the next, and other tools can check them.
func TestTheChecksumIsTheStandardOne(t *testing.T) {
	t.Parallel()
	for _, cut := range []int{0, 4, 9} {
		const text = "123456789"
		if got := checksum([]byte(text[:cut]), []byte(text[cut:])); got != 0xe3069283 {
			t.Errorf("cut at %d: %#x", cut, got)
		}
	}
}
