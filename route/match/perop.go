package match

// PerOp is one T for each operator: what code outside of this package does with it.
// NewPerOp makes it, so an operator that is added does not compile until each of them
// says what it does. The words of documents (CheckHeaderMatch, tags of policies.HeaderMatch, readers of
// dialects) and printers that ask for one operator by its name are not asked.
type PerOp[T any] struct{ of [endOfOps]T }

// NewPerOp is a PerOp. Its parameters are all operators, in their order.
func NewPerOp[T any](equal, segmentPrefix, bytePrefix, suffix, contains, fullMatch, present, oneOf, inRange T) PerOp[T] {
	var none T
	all := [...]T{none, equal, segmentPrefix, bytePrefix, suffix, contains, fullMatch, present, oneOf, inRange}
	return PerOp[T]{all} // does not compile where one is left out
}

// Of is what stands for an operator; the zero T for Op(0), which is none.
func (p *PerOp[T]) Of(op Op) T { return p.of[op] }
