package route

// GCD is the greatest common divisor; that of 0 and n is n.
func GCD[N uint32 | int64](a, b N) N {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
