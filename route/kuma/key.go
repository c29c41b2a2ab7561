package kuma

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// Key is the match key of a rule (spec/kuma.md 2.1): rules of different objects
// with equal matches, in equal order, have equal keys and become one route. It
// is the standard base64 of the SHA-256 of the matches as compact JSON.
func Key(matches []Match) string {
	text, err := json.Marshal(matches)
	if err != nil {
		panic(err) // text and lists of text always marshal
	}
	sum := sha256.Sum256(text)
	return base64.StdEncoding.EncodeToString(sum[:])
}
