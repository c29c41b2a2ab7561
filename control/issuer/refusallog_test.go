package issuer

import (
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
)

func TestTheLastTextsAreBounded(t *testing.T) {
	t.Parallel()
	var l refusalLog
	of := func(i int) api.Ref { return api.Ref{Name: fmt.Sprint(i)} }
	if l.same(of(0), "a") || !l.same(of(0), "a") || l.same(of(0), "b") {
		t.Error("a text is not known again")
	}
	l.forget(of(0))
	if l.same(of(0), "b") {
		t.Error("a text that was forgotten is known")
	}
	for i := range 3 * mostTexts {
		l.same(of(i), "a")
	}
	if len(l.of) > mostTexts {
		t.Errorf("%d texts are kept", len(l.of))
	}
}
