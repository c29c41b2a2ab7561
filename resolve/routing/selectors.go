package routing

import (
	"github.com/weftmesh/weft/matcher"
)

// Selectors tell the classes of a destination apart.
type Selectors struct{ List []*matcher.Selector }

// Bits has a digit for each selector.
func (s *Selectors) Bits(has func(*matcher.Selector) bool) string {
	out := make([]byte, len(s.List))
	for i, x := range s.List {
		out[i] = Bit(has(x))
	}
	return string(out)
}

// Bit is 1 or 0 as a digit of a class.
func Bit(yes bool) byte {
	if yes {
		return '1'
	}
	return '0'
}
