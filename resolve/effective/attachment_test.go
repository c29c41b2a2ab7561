package effective_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// TestStatesOfAttachments: what an entry comes to at a place, by whether any of its fields acts, others stand in
// its place, and fields have no effect there, whichever fields those are.
func TestStatesOfAttachments(t *testing.T) {
	t.Parallel()
	other := &api.Origin{}
	for _, acts := range []uint32{1, 2, 3, 1 << 31} {
		for _, c := range []struct {
			attachment effective.Attachment
			want       effective.AttachmentState
		}{
			{effective.Attachment{Acts: acts}, effective.Holds},
			{effective.Attachment{Acts: acts, Idle: 4}, effective.Partly},
			{effective.Attachment{Acts: acts, By: other}, effective.Partly},
			{effective.Attachment{By: other}, effective.Overridden},
			{effective.Attachment{By: other, Idle: acts}, effective.Overridden},
			{effective.Attachment{Idle: acts}, effective.NoEffect},
			{effective.Attachment{}, effective.NoEffect},
		} {
			if got := c.attachment.State(); got != c.want {
				t.Errorf("%+v: %d, want %d", c.attachment, got, c.want)
			}
		}
	}
}
