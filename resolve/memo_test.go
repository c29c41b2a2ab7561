package resolve_test

import (
	"testing"

	"github.com/weftmesh/weft/resolve"
)

// A value that cannot be derived panics alike for everybody who asks for it.
func TestMemoTellsEveryCallerOfTheSamePanic(t *testing.T) {
	t.Parallel()
	var m resolve.Memo
	calls := 0
	for range 3 {
		func() {
			defer func() {
				if p := recover(); p != "real" {
					t.Errorf("recovered %v, not what derive panicked with", p)
				}
			}()
			m.Do(func() any { calls++; panic("real") })
		}()
	}
	if _, ok := m.Known(); ok || calls != 1 {
		t.Errorf("known %v after %d calls", ok, calls)
	}
	var good resolve.Memo
	if _, ok := good.Known(); ok {
		t.Error("known before anybody asked")
	}
	good.Do(func() any { return 7 })
	if v, ok := good.Known(); !ok || v != 7 {
		t.Errorf("%v %v", v, ok)
	}
}
