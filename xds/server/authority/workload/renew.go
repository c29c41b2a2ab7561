package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Draw is a number in [0, 1) that a name always has, and that of many names is spread
// evenly: what sidecars do once in a while they do not all do at one time.
func Draw(name string) float64 {
	sum := sha256.Sum256([]byte(name))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// RenewAt is when the sidecar of a name renews a certificate that it got at issued: between half
// and two thirds of its life.
func RenewAt(issued, ends time.Time, sidecar string) time.Time {
	life := ends.Sub(issued)
	return issued.Add(life/2 + time.Duration(Draw(sidecar)*float64(life/6)))
}

// WarnAt is when people are told of what should have been renewed: at four fifths of its
// life. It holds for roots and for leaves.
func WarnAt(issued, ends time.Time) time.Time { return issued.Add(ends.Sub(issued) / 5 * 4) }
