package bolt

import (
	"encoding/json"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store/storetest"
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
		{"bootstrap", "", guest, api.Guest},
		{"bootstrap", "user", guest, api.User},
		{"dp.yaml", "", guest, api.User},
		{"bootstrap", "", service, api.User},
		{"x.yaml", "directory", service, api.Directory},
		{"", "guest", guest, api.Guest},
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
