package route

// Divisor is the greatest that both numbers have; of 0 and a number it is the number.
func Divisor[N uint32 | int64](a, b N) N {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
