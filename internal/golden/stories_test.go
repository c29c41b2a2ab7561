package golden

import "testing"

// The stories say of whole worlds what a reader of their documents expects. The
// blocks of the Kuma design and the worked examples of spec/kuma.md are among them.
func TestStories(t *testing.T) {
	t.Parallel()
	Stories(t, "../../testdata/stories", Answer)
}
