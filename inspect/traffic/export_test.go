package traffic

// NewTotalsOf keeps so many series apart, and so many causes.
func NewTotalsOf(most int) *Totals {
	t := NewTotals()
	t.most = most
	return t
}
