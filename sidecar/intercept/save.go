package intercept

import (
	"fmt"
	"slices"
	"strings"
)

// saved is what iptables-save prints of one family.
type saved struct {
	command string // iptables or ip6tables, for people
	ours    ruleset
	foreign int // how many rules of others
	faults  []error
}

// parseSave reads the output of iptables-save, and finds what stands in chains of weft's
// names without being weft's.
func parseSave(command, text string) saved {
	out := saved{command: command, ours: ruleset{}}
	table, owned := "", map[string]int{}
	fault := func(what, line string) {
		out.faults = append(out.faults, fmt.Errorf("%s: table %s: %s: %s; delete or rename it, then try again", command, table, what, line))
	}
	endOfTable := func() {
		for chain, n := range owned {
			if n == 0 {
				fault("a chain of weft's names that weft did not make", chain)
			}
		}
		owned = map[string]int{}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			endOfTable()
			table = line[1:]
		case strings.HasPrefix(line, ":"+chainsOfOurs):
			owned[strings.Fields(line[1:])[0]] += 0
		case strings.HasPrefix(line, "-A "):
			chain, mine := chainOf(line), carriesOurs(line)
			switch {
			case mine:
				out.ours[table] = append(out.ours[table], line)
				owned[chain]++
			case strings.HasPrefix(chain, chainsOfOurs):
				owned[chain]++
				fault("a rule in a chain of weft's that weft did not make", line)
			case strings.HasPrefix(targetOf(line), chainsOfOurs):
				fault("a rule that leads to a chain of weft's and that weft did not make", line)
			default:
				out.foreign++
			}
		}
	}
	endOfTable()
	slices.SortFunc(out.faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return out
}

// carriesOurs reports whether a rule has weft's comment, of any version.
func carriesOurs(line string) bool {
	w := words(line)
	for i := range w {
		if w[i] == "--comment" && i+1 < len(w) {
			name, version, ok := strings.Cut(w[i+1], "/")
			return ok && name == "weft" && version != "" && strings.Trim(version, "0123456789") == ""
		}
	}
	return false
}

func chainOf(line string) string {
	if w := strings.Fields(line); len(w) > 1 {
		return w[1]
	}
	return ""
}

func targetOf(line string) string {
	w := words(line)
	for i := range w {
		if (w[i] == "-j" || w[i] == "-g") && i+1 < len(w) {
			return w[i+1]
		}
	}
	return ""
}

// words splits a line as iptables-restore does: by spaces, but for those in quotes, where
// a backslash takes the next character as it is.
func words(line string) []string {
	var out []string
	var word strings.Builder
	in, quoted, escaped := false, false, false
	end := func() {
		if in {
			out = append(out, word.String())
		}
		word.Reset()
		in = false
	}
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted, in = !quoted, true
		case c == ' ' && !quoted:
			end()
		default:
			word.WriteRune(c)
			in = true
		}
	}
	end()
	return out
}

// same reports whether two sets hold the same rules, each chain in the same order.
func same(a, b ruleset) bool {
	for _, table := range tables {
		x, y := byChain(a[table]), byChain(b[table])
		if !slices.EqualFunc(x, y, func(p, q string) bool { return slices.Equal(words(p), words(q)) }) {
			return false
		}
	}
	return true
}

// byChain puts the rules of one chain beside each other, as iptables-save prints them.
func byChain(lines []string) []string {
	out := slices.Clone(lines)
	slices.SortStableFunc(out, func(a, b string) int { return strings.Compare(chainOf(a), chainOf(b)) })
	return out
}

// chainsOf are the chains of weft's own that rules are in, sorted.
func chainsOf(lines []string) []string {
	var out []string
	for _, line := range lines {
		if chain := chainOf(line); strings.HasPrefix(chain, chainsOfOurs) {
			out = append(out, chain)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}
