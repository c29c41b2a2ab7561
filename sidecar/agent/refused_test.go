package agent

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// A sidecar tries again where the control plane may answer otherwise later: what
// it lacks may come, and what is overloaded recovers. All else is hopeless.
func TestWhatIsWorthAnotherTry(t *testing.T) {
	t.Parallel()
	for status, hopeless := range map[int]bool{
		http.StatusBadRequest: true, http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusMethodNotAllowed: true, http.StatusConflict: true, 499: true,
		http.StatusNotFound: false, http.StatusTooManyRequests: false, http.StatusInternalServerError: false, http.StatusServiceUnavailable: false,
	} {
		if err := refused(status, nil); errors.Is(err, errPermanent) != hopeless {
			t.Errorf("%d: %v, want hopeless %v", status, err, hopeless)
		}
	}
}

// A refusal is told in the words of the control plane, in whatever form they come.
func TestARefusalSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"":                               "(503): ",
		" down \n":                       "(503): down",
		"{}":                             "(503): {}",
		`{"title": "Busy"}`:              "(503): Busy:",
		`{"title": "No", "detail": "x"}`: "(503): No: x",
		`{"title": "No", "detail": "x", "invalid_parameters": [{"field": "a", "reason": "b"}, {"field": "c", "reason": "d"}]}`: "(503): No: x; a: b; c: d",
	} {
		if err := refused(http.StatusServiceUnavailable, []byte(answer)); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %q, want %q", answer, err, want)
		}
	}
}
