// Package truncate bounds what is kept of the words of clients.
package truncate

import (
	"strings"
)

// How much of what a client says of itself, or of a refusal, is read and kept. It
// is text of a client, of any length up to that of a message.
const (
	Message = 4 << 10  // of the reason of a refusal: status, log, events and traces
	Search  = 64 << 10 // of the same, to find names of resources in
	Claim   = 256      // of a node's id and of the name and version of its program
)

// Text is text up to a bound, which then keeps nothing of the rest alive.
func Text(text string, bound int) string {
	if len(text) <= bound {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	const end = " ... (cut)"
	return strings.ToValidUTF8(text[:bound-len(end)], "") + end
}
