package admission_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
)

// TestALargeBatchIsNotCopied: to judge documents of which most are as they are stored takes little room beside
// them, whether something is wrong with one or not.
func TestALargeBatchIsNotCopied(t *testing.T) {
	const documents, most = 5000, 400 // bytes for each
	var text strings.Builder
	for i := range documents {
		fmt.Fprintf(&text, "---\ntype: MeshRetry\nname: r-%d\nmesh: default\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n", i)
	}
	objects, err := decode.Objects(world.Catalog(), "", []byte(text.String()))
	if err != nil || len(objects) != documents {
		t.Fatal(err, len(objects))
	}
	now := snapshot.New(1, world.DefaultMesh())
	m, _ := world.Compile(now)
	chain := chainOf(m, false)
	for what, found := range map[string][]*api.Violation{"sound": nil, "with a mistake": {api.Path("spec").Breaks("is wrong")}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := chain.Admit(admission.People, now, admission.WriteRequest{Writes: admission.Puts(objects), Found: found, InOrder: true})
		runtime.ReadMemStats(&after)
		if (err == nil) != (found == nil) {
			t.Errorf("%s: %v", what, err)
		}
		if each := (after.TotalAlloc - before.TotalAlloc) / documents; each > most {
			t.Errorf("%s: %d bytes for each document, more than %d", what, each, most)
		}
	}
}
