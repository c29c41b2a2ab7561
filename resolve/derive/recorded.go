package derive

// Read is something that may be asked of a graph, as a number: what stands at a key, who is in a
// bucket, all of a collection, which buckets begin alike. Where two have one number, who goes by
// it takes something for changed that is not.
type Read uint64

// Recorded reads at, and tells of all that is asked of it. A question that is answered by that
// alone has the same answer at a later graph unless Delta.Touched tells of something that it
// asked.
func Recorded(at At, tell func(Read)) At { return recorded{at, tell} }

type recorded struct {
	at   At
	tell func(Read)
}

func (r recorded) value(c *collection, key string) any {
	r.tell(readNamed(c.values, key))
	return r.at.value(c, key)
}

func (r recorded) each(c *collection, f func(key string, v any) bool) {
	r.tell(readNamed(c.whole, ""))
	r.at.each(c, f)
}

func (r recorded) eachIn(i *index, bucket string, f func(key string, v any) bool) {
	r.tell(readNamed(i.buckets, bucket))
	r.at.eachIn(i, bucket, f)
}

func (r recorded) size(i *index, bucket string) int {
	r.tell(readNamed(i.buckets, bucket))
	return r.at.size(i, bucket)
}

func (r recorded) buckets(i *index, prefix string, f func(bucket string) bool) {
	r.tell(Read(begun(i.buckets, true).with(prefix)))
	r.at.buckets(i, prefix, f)
}

func (r recorded) keys(i *index, bucket string, f func(key string) bool) {
	r.tell(readNamed(i.buckets, bucket))
	r.at.keys(i, bucket, f)
}

func (r recorded) question() question { return r.at.question() }

// Touched tells of all that may be answered otherwise after the update than before it; one thing maybe
// more than once, until tell is false. It reports whether it told all.
func (d *Delta) Touched(tell func(Read) bool) bool {
	for _, c := range d.schema.collections {
		list := d.changed[c.number]
		if len(list) > 0 && !tell(readNamed(c.whole, "")) {
			return false
		}
		for _, x := range list {
			if !tell(readNamed(c.values, x.key)) || !c.touched(x.key, x.before, tell) || !c.touched(x.key, x.after, tell) {
				return false
			}
		}
	}
	return true
}

// touched tells of the buckets of a value that came or went.
func (c *collection) touched(key string, v any, tell func(Read) bool) bool {
	for i, buckets := range c.bucketsOf(key, v) {
		x := c.indexes[i]
		for _, bucket := range buckets {
			if !tell(readNamed(x.buckets, bucket)) {
				return false
			}
			if !x.group { // nobody lists the buckets of others
				continue
			}
			sum := begun(x.buckets, true)
			for at := 0; ; at++ {
				if !tell(Read(sum)) {
					return false
				}
				if at == len(bucket) {
					break
				}
				sum = sum.with(bucket[at : at+1])
			}
		}
	}
	return true
}

// sum is an FNV-1a of 64 bits.
type sum uint64

const (
	sumBasis sum = 14695981039346656037
	sumPrime sum = 1099511628211
)

// begun is the sum of nothing in a space, of a name or of how names begin.
func begun(space uint32, prefix bool) sum {
	n := sum(space) << 1
	if prefix {
		n |= 1
	}
	return (sumBasis ^ n) * sumPrime
}

func (s sum) with(text string) sum {
	for i := range len(text) {
		s = (s ^ sum(text[i])) * sumPrime
	}
	return s
}

func readNamed(space uint32, key string) Read { return Read(begun(space, false).with(key)) }
