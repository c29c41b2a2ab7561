package files

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFileSystemThatDoesNotAnswerHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		timed := Timed{Limit: 2 * time.Second}
		hanging := make(chan struct{})
		var begun atomic.Int32
		read := func() ([]byte, error) {
			begun.Add(1)
			<-hanging
			return []byte("text"), nil
		}
		start := time.Now()
		for range 3 {
			if _, err := timed.Read("/mnt/key", read); err == nil || !strings.Contains(err.Error(), "/mnt/key is not read within 2s") {
				t.Errorf("error %v", err)
			}
		}
		if took := time.Since(start); took != 2*time.Second || begun.Load() != 1 {
			t.Errorf("three reads took %v, and %d were begun", took, begun.Load())
		}
		if text, err := timed.Read("/mnt/other", func() ([]byte, error) { return []byte("other"), nil }); err != nil || string(text) != "other" {
			t.Errorf("another file: %q, %v", text, err)
		}
		close(hanging)
		synctest.Wait()
		if text, err := timed.Read("/mnt/key", read); err != nil || string(text) != "text" || begun.Load() != 2 {
			t.Errorf("when it answers again: %q, %v, %d", text, err, begun.Load())
		}
	})
}
