package plan_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/store"
)

// TestStories: what people read of a change. Files before/ are what holds, change/ what
// would be stored, delete names an object, and want. what they are told.
func TestStories(t *testing.T) {
	t.Parallel()
	cases.Files(t, "testdata/*.txtar", func(t *testing.T, _ string, story *txtar.Archive) *txtar.Archive {
		var before []*api.Object
		var writes []store.Write
		for _, f := range story.Files {
			switch {
			case strings.HasPrefix(f.Name, "before/"):
				before = append(before, objects(t, f)...)
			case strings.HasPrefix(f.Name, "change/"):
				for _, o := range objects(t, f) {
					writes = append(writes, store.Write{Put: o})
				}
			case f.Name == "delete":
				words := strings.Fields(string(f.Data))
				writes = append(writes, store.Write{Delete: &api.Ref{Kind: words[0], Mesh: "default", Name: words[1]}})
			}
		}
		model, _ := world.Compile(world.Snapshot(before...))
		step, results := step.Next(model, writes, time.Unix(0, 0))
		step.Renderer = world.Settings{}.Renderer()
		p := plan.Of(step, results)
		for i, f := range story.Files {
			var out strings.Builder
			var err error
			switch f.Name {
			case "want.text":
				err = plan.Text(&out, p, terminal.Style{})
			case "want.markdown":
				err = plan.Markdown(&out, p)
			default:
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			story.Files[i].Data = []byte(out.String())
		}
		return story
	})
}

func objects(t *testing.T, f txtar.File) []*api.Object {
	t.Helper()
	list, violations := world.Decode(f.Name, f.Data)
	if len(violations) > 0 {
		t.Fatal(violations[0])
	}
	return list
}
