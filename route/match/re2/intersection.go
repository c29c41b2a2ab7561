package re2

import (
	"regexp/syntax"
	"slices"
)

// Language is the set of texts that an expression matches as a whole, byte by byte.
type Language struct {
	prog *syntax.Prog
	// bounds are the bytes at which the program begins or ends to treat bytes alike.
	bounds []int
}

// LanguageOf is that of an expression in RE2 syntax; nil for one that does not parse.
func LanguageOf(expression string) *Language {
	re, err := syntax.Parse("(?s:"+FoldASCII(expression)+")", syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil
	}
	l := &Language{prog: prog}
	for i := range prog.Inst {
		in := &prog.Inst[i]
		for at, r := range in.Rune {
			bound := int(r)
			if at%2 == 1 || len(in.Rune) == 1 { // a single rune is a range of one, perhaps in both cases
				l.bounds = append(l.bounds, int(r))
				bound++
			}
			l.bounds = append(l.bounds, bound)
			if len(in.Rune) == 1 {
				for f := foldOf(r); f != r; f = foldOf(f) {
					l.bounds = append(l.bounds, int(f), int(f)+1)
				}
			}
		}
	}
	return l
}

// foldOf is an ASCII letter in the other case, or r itself; of a letter, twice is the letter.
func foldOf(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r >= 'A' && r <= 'Z':
		return r - 'A' + 'a'
	}
	return r
}

// mostMet bounds how many steps are looked at to find a text that is in several languages.
const mostMet = 20_000

// Disjoint reports whether no text is in all the languages. It is sound, and complete for those that
// do not need more than mostMet steps.
func Disjoint(all ...*Language) bool {
	w := &walk{all: all, seen: map[string]bool{}}
	start := make([]uint32, len(all))
	for i, l := range all {
		start[i] = uint32(l.prog.Start)
	}
	w.letters = lettersOf(all)
	w.push(step{at: start, before: -1})
	for len(w.open) > 0 {
		s := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		if len(w.seen) > mostMet || w.ends(&s) {
			return false
		}
		for _, c := range w.letters {
			w.read(&s, c)
		}
	}
	return true
}

// lettersOf are bytes that stand for all: one of each run that no language tells apart, nor what is
// asked about words and lines.
func lettersOf(all []*Language) []rune {
	bounds := []int{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1}
	for _, l := range all {
		bounds = append(bounds, l.bounds...)
	}
	slices.Sort(bounds)
	var out []rune
	for _, b := range slices.Compact(bounds) {
		if b >= 0 && b <= 0xFF {
			out = append(out, rune(b))
		}
	}
	return out
}

// step is where each program is after some text, and the byte that it ends with, -1 for none.
type step struct {
	at     []uint32
	before rune
}

// walk looks for a text that is in all languages.
type walk struct {
	all     []*Language
	letters []rune
	seen    map[string]bool
	open    []step
}

func (w *walk) push(s step) {
	key := make([]byte, 0, 4*len(s.at)+1)
	for _, pc := range s.at {
		key = append(key, byte(pc), byte(pc>>8), byte(pc>>16), byte(pc>>24))
	}
	kind := byte(0) // what is asked about the byte before
	switch {
	case s.before < 0:
		kind = 1
	case s.before == '\n':
		kind = 2
	case syntax.IsWordChar(s.before):
		kind = 3
	}
	if key = append(key, kind); !w.seen[string(key)] {
		w.seen[string(key)] = true
		w.open = append(w.open, s)
	}
}

// ends reports whether the text so far is in all languages.
func (w *walk) ends(s *step) bool {
	for i, l := range w.all {
		found := false
		l.follow(s.at[i], syntax.EmptyOpContext(s.before, -1), func(in *syntax.Inst) { found = found || in.Op == syntax.InstMatch })
		if !found {
			return false
		}
	}
	return true
}

// read goes on by a byte, in every way in which all programs can.
func (w *walk) read(s *step, c rune) {
	next := make([][]uint32, len(w.all))
	for i, l := range w.all {
		l.follow(s.at[i], syntax.EmptyOpContext(s.before, c), func(in *syntax.Inst) {
			if in.Op != syntax.InstMatch && in.MatchRune(c) && !slices.Contains(next[i], in.Out) {
				next[i] = append(next[i], in.Out)
			}
		})
		if len(next[i]) == 0 {
			return
		}
	}
	at := make([]uint32, len(w.all))
	var choose func(i int)
	choose = func(i int) {
		if i == len(at) {
			w.push(step{slices.Clone(at), c})
			return
		}
		for _, pc := range next[i] {
			at[i] = pc
			choose(i + 1)
		}
	}
	choose(0)
}

// follow tells the instructions that read a byte, or match, which are reached from one where what
// is asked about the place holds.
func (l *Language) follow(from uint32, holds syntax.EmptyOp, tell func(*syntax.Inst)) {
	seen, open := map[uint32]bool{}, []uint32{from}
	for len(open) > 0 {
		pc := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &l.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			open = append(open, in.Arg, in.Out)
		case syntax.InstCapture, syntax.InstNop:
			open = append(open, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				open = append(open, in.Out)
			}
		case syntax.InstFail:
		default:
			tell(in)
		}
	}
}
