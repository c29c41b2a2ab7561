package sim

// ShareOf is the part of the requests with draws in which Envoy chooses the weights
// from low until high, of total.
func ShareOf(list []Span, low, high, total uint64) float64 {
	return draws(list).share(low, high, total)
}
