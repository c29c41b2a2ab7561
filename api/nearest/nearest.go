package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// longestWord is the longest one that something may be near to, in bytes.
const longestWord = 64

// nearWord is a word that another may be a misspelling of, and how far from it.
type nearWord struct {
	word string
	far  int
}

// To are the words, at most limit of them, that word may be a misspelling
// of, nearest first; none where nothing is near. Whoever asks it of the same many words again and
// again asks Words.
func To(word string, words []string, limit int) []string {
	if len(word) > longestWord {
		return nil
	}
	var found []nearWord
	w := strings.ToLower(word)
	for _, other := range words {
		if mayBeNear(word, other) {
			found = addNear(found, word, other, distance(w, strings.ToLower(other)))
		}
	}
	return closest(found, limit)
}

// farthest is how far two words may be from each other.
func farthest(a, b string) int { return max(1, min(len(a), len(b))/3) }

// mayBeNear reports whether one may be a misspelling of the other by how long they are.
func mayBeNear(word, other string) bool {
	most := farthest(word, other)
	return other != word && len(other) <= longestWord && len(word)-len(other) <= most && len(other)-len(word) <= most
}

// addNear adds a word that is so far from another, if that is near.
func addNear(found []nearWord, word, other string, far int) []nearWord {
	if far <= farthest(word, other) && mayBeNear(word, other) {
		found = append(found, nearWord{other, far})
	}
	return found
}

// closest are the nearest of those that are near, which it sorts.
func closest(found []nearWord, limit int) []string {
	slices.SortFunc(found, func(a, b nearWord) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.word, b.word))
	})
	var out []string
	for _, n := range found[:min(limit, len(found))] {
		out = append(out, n.word)
	}
	return out
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), upTo(len(b)), make([]int, len(b)+1)
	for i := range len(a) {
		distances(next, row, before, a[:i+1], b)
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// upTo is 0 to n: how far the beginnings of a word are from nothing.
func upTo(n int) []int {
	out := make([]int, n+1)
	for i := range out {
		out[i] = i
	}
	return out
}

// distances fills out with how far at is from the beginnings of to; shorter has that of at without
// its last letter, and shortest without its last two, where it has as many.
func distances(out, shorter, shortest []int, at, to string) {
	i := len(at) - 1
	out[0] = i + 1
	for j := range len(to) {
		d := shorter[j]
		if at[i] != to[j] {
			d++
		}
		d = min(d, shorter[j+1]+1, out[j]+1)
		if i > 0 && j > 0 && at[i] == to[j-1] && at[i-1] == to[j] {
			d = min(d, shortest[j-1]+1)
		}
		out[j+1] = d
	}
}

// DidYouMean ends a message about a wrong word: the nearest of words, or else
// all of them, introduced by otherwise.
func DidYouMean(word string, words []string, otherwise string) string {
	if near := To(word, words, 3); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(words) == 0 {
		return "leave it out"
	}
	return otherwise + " " + strings.Join(words, ", ")
}
