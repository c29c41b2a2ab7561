package route

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Algorithm is a way to choose one of the endpoints of a backend for a request.
type Algorithm uint8

// The algorithms.
const (
	RoundRobin Algorithm = iota
	Random
	LeastRequest      // of two drawn by chance, the one with fewer requests under way
	LeastRequestOfAll // the one with the fewest
	RingHash          // by the HashKeys of the rule; by chance where a request has none of them
)

var algorithmWords = [...]string{"round robin", "random", "least request", "least request of all", "ring hash"}

// String is the algorithm as views have it.
func (a Algorithm) String() string { return algorithmWords[a] }

// Balance is how the endpoints of a backend share its requests. The zero value is
// RoundRobin, which every backend has of which nobody says anything else.
type Balance struct {
	Algorithm Algorithm
	// Bound is how many requests an endpoint of RingHash may have under way, in percent of
	// what all have on average, before others get them; 0 is no bound.
	Bound uint32
	// SlowStart is how long an endpoint of RoundRobin or LeastRequest that is new gets fewer
	// requests than the others: its part grows by its part of that time to the power of
	// Exponent, and is at least LeastWeight percent of a whole one. 0 is no such time.
	SlowStart   api.Duration `json:",omitempty"`
	Exponent    float64      `json:",omitempty"`
	LeastWeight uint32       `json:",omitempty"`
}

// String is the balance in words: empty of the zero value.
func (b Balance) String() string {
	if b == (Balance{}) {
		return ""
	}
	text := b.Algorithm.String()
	if b.Bound > 0 {
		text += fmt.Sprintf(" bounded by %d%%", b.Bound)
	}
	if b.SlowStart > 0 {
		text += fmt.Sprintf(", slowly to new endpoints for %s", b.SlowStart)
	}
	if b.SlowStart > 0 && b.LeastWeight > 0 {
		text += fmt.Sprintf(" from %d%%", b.LeastWeight)
	}
	if b.SlowStart > 0 && b.Exponent != 1 {
		text += fmt.Sprintf(" (to the power of %.4g)", b.Exponent)
	}
	return text
}

// HashKey is a part of a request by whose value RingHash chooses. Exactly one of the
// first four is set.
type HashKey struct {
	Header, Query, Cookie string
	Source                bool // the address that the request comes from
	// Session says that the proxy sets the cookie, for the time of a session, where a
	// request has none.
	Session bool
	// Last says that no later key counts where the request has this one, or one before.
	Last bool
}

// String is the key in words.
func (k HashKey) String() string {
	switch {
	case k.Header != "":
		return "header " + k.Header
	case k.Query != "":
		return "query parameter " + k.Query
	case k.Session:
		return "session cookie " + k.Cookie
	case k.Cookie != "":
		return "cookie " + k.Cookie
	}
	return "source address"
}

// HashText is what a list of keys takes of a request, in words; empty of none.
func HashText(keys []HashKey) string {
	var b strings.Builder
	for i, k := range keys {
		switch {
		case i > 0 && keys[i-1].Last:
			b.WriteString(", else ")
		case i > 0:
			b.WriteString(" and ")
		}
		b.WriteString(k.String())
	}
	return b.String()
}
