package intercept

import "github.com/hashicorp/go-multierror"

// The pure half of reading and changing what is in the kernel, for tests.

// Ruleset is what is ours in the tables of one family.
type Ruleset = ruleset

// ParseSave is what of an output of iptables-save is ours, and what stands in its way.
func ParseSave(text string) (ours Ruleset, foreign int, err error) {
	s := parseSave("iptables", text)
	return s.ours, s.foreign, s.err()
}

// IPTables are the rules of one family.
func IPTables(c Config, family int) Ruleset { return iptables(c, family) }

// RestoreText leads from what is there to what is wanted.
func RestoreText(there, want Ruleset) string { return restoreText(there, want) }

// Same reports whether two sets are alike.
func Same(a, b Ruleset) bool { return same(a, b) }

// NFTOurs reports whether a table is ours.
func NFTOurs(listing string) bool { return nftOurs(listing) }

func (s saved) err() error {
	var errs *multierror.Error
	return multierror.Append(errs, s.faults...).ErrorOrNil()
}
