package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// Words are words among which those near to others are looked for again and again.
type Words struct{ list []lowered }

type lowered struct{ lower, word string }

// NewList are words, of which one may come twice.
func NewList(words []string) *Words {
	w := &Words{make([]lowered, len(words))}
	for i, word := range words {
		w.list[i] = lowered{strings.ToLower(word), word}
	}
	slices.SortFunc(w.list, func(a, b lowered) int { return cmp.Compare(a.lower, b.lower) })
	return w
}

// Nearest is what Nearest finds among the words. It goes through them as through a tree, and leaves
// out all that begin as no word that is near does.
func (w *Words) Nearest(word string, limit int) []string {
	if len(word) > longestWord || limit == 0 {
		return nil
	}
	to := strings.ToLower(word)
	rows, most := [][]int{upTo(len(to))}, farthest(word, word) // no more is near
	var found []nearWord
	for rest, before := w.list, ""; len(rest) > 0; {
		at := rest[0]
		depth := min(alike(before, at.lower), len(rows)-1) // rows of what begins alike hold
		for rows = rows[:depth+1]; depth < len(at.lower) && !lost(rows, most); depth++ {
			rows = nextRow(rows, to, at.lower[:depth+1])
		}
		before = at.lower
		if lost(rows, most) {
			rest = rest[beginning(rest, at.lower[:depth]):]
			continue
		}
		if found = addNear(found, word, at.word, rows[depth][len(to)]); len(found) >= limit {
			closest(found, limit)
			found, most = found[:limit], found[limit-1].far
		}
		rest = rest[1:]
	}
	return closest(found, limit)
}

// nextRow adds how far at is from the beginnings of to; rows has that of all that at begins with,
// and room that was used before.
func nextRow(rows [][]int, to, at string) [][]int {
	i := len(at) - 1
	if len(rows) < cap(rows) && rows[:i+2][i+1] != nil {
		rows = rows[:i+2]
	} else {
		rows = append(rows, make([]int, len(to)+1))
	}
	distances(rows[i+1], rows[i], rows[max(0, i-1)], at, to)
	return rows
}

// lost reports whether nothing that begins so is near: a letter more brings nothing nearer, but for
// the second of two that are swapped.
func lost(rows [][]int, most int) bool {
	n := len(rows) - 1
	return slices.Min(rows[n]) > most && (n == 0 || slices.Min(rows[n-1]) >= most)
}

// beginning is how many of a sorted list, of which the first does, begin so.
func beginning(list []lowered, prefix string) int {
	n, _ := slices.BinarySearchFunc(list, prefix, func(x lowered, prefix string) int {
		if strings.HasPrefix(x.lower, prefix) {
			return -1
		}
		return 1
	})
	return n
}

// alike is with how many letters both begin alike.
func alike(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
