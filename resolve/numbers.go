package resolve

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

// bitmap is a set of numbers that is being made.
type bitmap []uint64

func (m bitmap) add(n uint32) { m[n/64] |= 1 << (n % 64) }

func (m bitmap) addAll(s numbers) {
	for _, b := range s {
		m[b.at] |= b.bits
	}
}

// all yields the members in their order.
func (m bitmap) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for at, rest := range m {
			if rest != 0 && !(block{uint32(at), rest}).all(yield) {
				return
			}
		}
	}
}

// numbers is a sorted set of numbers that many small ones, near to each other,
// make dense: 64 of them share a block. It is immutable.
type numbers []block

// block is the members among the 64 numbers from 64*at on.
type block struct {
	at   uint32
	bits uint64
}

// edit adds or removes a number.
type edit struct {
	n   uint32
	add bool
}

// with is the set after the edits.
func (s numbers) with(edits []edit) numbers {
	out := slices.Clone(s)
	for _, e := range edits {
		i, ok := slices.BinarySearchFunc(out, e.n/64, func(b block, at uint32) int { return cmp.Compare(b.at, at) })
		if !ok {
			if !e.add {
				continue
			}
			out = slices.Insert(out, i, block{at: e.n / 64})
		}
		if bit := uint64(1) << (e.n % 64); e.add {
			out[i].bits |= bit
		} else {
			out[i].bits &^= bit
		}
	}
	return slices.Clip(slices.DeleteFunc(out, func(b block) bool { return b.bits == 0 }))
}

// all yields the members in their order.
func (s numbers) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, b := range s {
			if !b.all(yield) {
				return
			}
		}
	}
}

func (b block) all(yield func(uint32) bool) bool {
	for rest := b.bits; rest != 0; rest &= rest - 1 {
		if !yield(64*b.at + uint32(bits.TrailingZeros64(rest))) {
			return false
		}
	}
	return true
}

// and is the numbers that are in both sets.
func (s numbers) and(t numbers) numbers {
	var out numbers
	for len(s) > 0 && len(t) > 0 {
		switch {
		case s[0].at < t[0].at:
			s = s[1:]
		case s[0].at > t[0].at:
			t = t[1:]
		default:
			if both := s[0].bits & t[0].bits; both != 0 {
				out = append(out, block{s[0].at, both})
			}
			s, t = s[1:], t[1:]
		}
	}
	return out
}
