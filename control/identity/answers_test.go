package identity

import (
	"fmt"
	"testing"
	"time"
)

// TestAnswersAreForgottenInBounds: where too many answers of the API server are remembered, those that have ended
// make room, and none that holds. Where all hold some are asked for again, and memory stays bounded.
func TestAnswersAreForgottenInBounds(t *testing.T) {
	t.Parallel()
	u := NewUsers(nil)
	keyOf := func(i int) [32]byte { return key("user", fmt.Sprint(i)) }
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	const half = mostAnswers / 2
	for i := range half {
		u.answers[keyOf(i)], u.answers[keyOf(half+i)] = answer{yes: true, ends: soon}, answer{yes: true, ends: past}
	}
	for i := range half {
		u.remember(keyOf(mostAnswers+i), answer{yes: true, ends: soon})
	}
	lost := 0
	for i := range half {
		if a, ok := u.remembered(keyOf(i)); !ok || !a.yes {
			lost++
		}
		if _, ok := u.remembered(keyOf(half + i)); ok {
			t.Fatal("an answer that has ended is given")
		}
	}
	if lost > 0 {
		t.Errorf("%d answers that hold are forgotten for those that have ended", lost)
	}
	for i := range 10 {
		u.remember(keyOf(2*mostAnswers+i), answer{yes: true, ends: soon})
	}
	if len(u.answers) != mostAnswers {
		t.Errorf("%d answers are kept, and not %d", len(u.answers), mostAnswers)
	}
}
