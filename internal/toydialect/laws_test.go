package toydialect_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/laws"
	"github.com/weftmesh/weft/internal/toydialect/toyworlds"
)

func TestUpdateEqualsCompile(t *testing.T) {
	t.Parallel()
	laws.UpdateEqualsCompile(t, dialects(), func(t *rapid.T, s *snapshot.Snapshot) []snapshot.Change { return toyworlds.Changes(t, catalog, s) })
}
