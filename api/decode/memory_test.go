package decode_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// TestObjectsForgetTheirNodes: what stays of a decoded document is about as
// large as its text, not the tree that it was read through.
func TestObjectsForgetTheirNodes(t *testing.T) {
	catalog := api.NewCatalog(api.Types()...)
	inbounds := make([]string, 40)
	for i := range inbounds {
		inbounds[i] = fmt.Sprintf(`{"port":%d,"tags":{"kuma.io/service":"web"}}`, 8000+i)
	}
	text := fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":"dp","networking":{"address":"127.0.0.1","inbound":[%s]}}`, strings.Join(inbounds, ","))
	var objects []*api.Object
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 200 {
		list, err := decode.Objects(catalog, "test.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, list...)
	}
	each := (heap() - before) / uint64(len(objects))
	if most := uint64(15 * len(text)); each > most {
		t.Errorf("a document of %d bytes keeps %d, more than %d", len(text), each, most)
	}
	runtime.KeepAlive(objects)
}
