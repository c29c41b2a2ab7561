package intercept

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// iptablesBackends are those whose rules iptables-save prints.
var iptablesBackends = []Firewall{IptablesNFT, IptablesLegacy}

// place is where rules of one family stand, by one backend; NFT has one place for both.
type place struct {
	backend Firewall
	family  int
}

// state is what is in the kernel, as far as it could be read.
type state struct {
	saves map[place]saved
	table string // as nft lists it, empty without one
	// unread says why places could not be read: where their programs cannot be used, no
	// rules were installed by them either, but for those of another kernel's time.
	unread map[place]error
	faults *multierror.Error // rules of others where ours would stand
}

// readState looks at every backend whose programs are there.
func readState(ctx context.Context) *state {
	s := &state{saves: map[place]saved{}, unread: map[place]error{}}
	for _, b := range iptablesBackends {
		for _, family := range []int{4, 6} {
			p := place{b, family}
			read, err := readSave(ctx, b, family)
			if err != nil {
				s.unread[p] = err
				continue
			}
			s.saves[p] = read
			s.faults = multierror.Append(s.faults, read.faults...)
		}
	}
	if err := s.readTable(ctx); err != nil {
		s.unread[place{backend: NFT}] = err
	}
	return s
}

func readSave(ctx context.Context, b Firewall, family int) (saved, error) {
	command := tool(b, family, "save")
	if !there(command) || b == IptablesLegacy && !legacyTables(family) {
		return saved{ours: ruleset{}}, nil
	}
	text, err := run(ctx, "", command)
	if err != nil {
		return saved{}, err
	}
	return parseSave(strings.TrimSuffix(command, "-save"), text), nil
}

func (s *state) readTable(ctx context.Context) error {
	if !there("nft") {
		return nil
	}
	all, err := run(ctx, "", "nft", "list", "tables")
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Split(strings.TrimSpace(all), "\n"), "table "+nftTable) {
		return nil
	}
	listing, err := run(ctx, "", "nft", "-j", "list", "table", "inet", "weft")
	if err != nil {
		return err
	}
	if !nftOurs(listing) {
		s.faults = multierror.Append(s.faults, fmt.Errorf("nft: table %s has rules that weft did not make, or none; delete or rename it, then try again", nftTable))
	}
	s.table, err = run(ctx, "", "nft", "-s", "list", "table", "inet", "weft")
	return err
}

// choose is what Auto means here.
func (s *state) choose(m IPFamilyMode) (Firewall, bool) {
	rules := func(b Firewall) int {
		n := 0
		for _, family := range []int{4, 6} {
			save := s.saves[place{b, family}]
			n += save.foreign
			for _, lines := range save.ours {
				n += len(lines)
			}
		}
		return n
	}
	if rules(IptablesLegacy) > 0 && rules(IptablesNFT) == 0 {
		return IptablesLegacy, true
	}
	for _, b := range []Firewall{IptablesNFT, NFT, IptablesLegacy} {
		if there(toolsOf(b, m)...) && s.unread[place{b, 4}] == nil && s.unread[place{backend: b}] == nil {
			return b, true
		}
	}
	return "", false
}

// toolsOf are the programs that a backend needs.
func toolsOf(b Firewall, m IPFamilyMode) []string {
	var out []string
	for _, f := range (&Config{IPFamilyMode: m}).families() {
		if f.number == 6 {
			out = append(out, "ip")
		}
		if b != NFT {
			out = append(out, tool(b, f.number, "save"), tool(b, f.number, "restore"))
		}
	}
	if b == NFT {
		out = append(out, "nft")
	}
	return out
}

// step changes one place at once, or not at all.
type step struct {
	place place
	do    []string
	test  []string // says whether do could be done
	text  string   // for both
	undo  []string
	back  string // for undo
	// before is what of ours stood there, for a step that fails half-way.
	before ruleset
}

// steps lead from s to the wanted rules of c by b, and away from all others; a nil c
// wants none.
func (s *state) steps(c *Config, b Firewall) []step {
	var out []step
	if c != nil && c.IPFamilyMode.has6() && !hasSelf6() {
		out = append(out, step{do: addSelf6, undo: removeSelf6})
	}
	var first, later []step // those of b before those that only take away
	for _, other := range iptablesBackends {
		for _, f := range []familyFacts{facts4, facts6} {
			want := ruleset{}
			if c != nil && other == b && slices.Contains(c.families(), f) {
				want = iptables(*c, f.number)
			}
			had := s.saves[place{other, f.number}].ours
			if same(had, want) {
				continue
			}
			command := restore(other, f.number)
			next := step{place: place{other, f.number}, do: command, test: append(slices.Clone(command), "--test"),
				text: restoreText(had, want), undo: command, back: restoreText(want, had), before: had}
			if other == b {
				first = append(first, next)
			} else {
				later = append(later, next)
			}
		}
	}
	want := ""
	if c != nil && b == NFT {
		want = nftBody(*c)
	}
	if !sameTable(want, s.table) {
		first = append(first, step{place: place{backend: NFT}, do: nftLoad, test: []string{"nft", "-c", "-f", "-"},
			text: nftReplace(want), undo: nftLoad, back: nftReplace(s.table)})
	}
	out = slices.Concat(out, first, later)
	if c == nil && hasSelf6() {
		out = append(out, step{do: removeSelf6, undo: addSelf6})
	}
	return out
}
