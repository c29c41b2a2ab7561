package derive

// HashBasis and prime are those of FNV-1a.
const HashBasis, prime = 14695981039346656037, 1099511628211

// Mix adds texts to a hash that began with HashBasis, so that it matters where one ends.
func Mix(h uint64, texts ...string) uint64 {
	for _, text := range texts {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * prime
		}
		h *= prime
	}
	return h
}
