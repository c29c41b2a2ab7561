package resolvetest

import "testing"

// TestStages runs the cases of all stages in one program, which is what `make check` does with them.
func TestStages(t *testing.T) {
	t.Parallel()
	for folder, says := range stages {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			Cases(t, "../../resolve/"+folder+"/*.txtar", says)
		})
	}
}
