package truncate

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestText: what is kept is no longer than the bound, and text.
func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
	}{
		{"short", "short"},
		{"not\xfftext", "not\uFFFDtext"},
		{strings.Repeat("a", 20), strings.Repeat("a", 20)},
		{strings.Repeat("a", 21), strings.Repeat("a", 10) + " ... (cut)"},
		{strings.Repeat("a", 9) + "ä" + strings.Repeat("a", 20), strings.Repeat("a", 9) + " ... (cut)"},
	} {
		if got := Text(c.text, 20); got != c.want || !utf8.ValidString(got) {
			t.Errorf("%q is kept of %q", got, c.text)
		}
	}
}
