package route

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
)

// Composition is what the rules for one frontend come to.
type Composition struct {
	Rows []Row // the first one that matches holds
	// Default is what happens to what no row matches; nil where a row matches
	// everything.
	Default *MergedRule
	// Inline are fields of policies that objects say for the frontend as a whole,
	// weakest first: a layer under those that include a rule. A limit among them is
	// one bucket for all rules whose answer to what is over it is the same.
	Inline []Inline
	// Connections says where whole connections go, where nobody looks for requests
	// in them: then there are no rows and nothing else. Its action is *Forward or
	// Passthrough. It is nil where requests are told apart.
	Connections *MergedRule
	// ServerNames are the names for which clients ask in TLS (SNI) by which whole
	// connections go, each by the nearest of them; one that asks for none of them is
	// closed. Where there are some there is nothing else.
	ServerNames []ServerName
}

// ServerName is where the connections go that ask for a name, or for one below it where it
// begins with *.
type ServerName struct {
	Name string
	*MergedRule
}

// Row is one match of a rule, in its place.
type Row struct {
	*MergedRule
	Match match.Match
}

// MergedRule is one rule of a table, final but for the attached policies.
type MergedRule struct {
	Key     string // names the rule in its table
	Name    string // of the Envoy route
	Matches []match.Match
	// Do is what happens to what one of the matches matches.
	Do      Action
	Filters []Filter
	// Upgrade acts where Do forwards.
	Upgrade Upgrade
	// Origins are the written rules behind it, weakest first; none where the
	// dialect itself says it. FiltersBy and ActionBy are those whose word holds,
	// nil where nobody's does.
	Origins             []*api.Origin
	FiltersBy, ActionBy *api.Origin
	// SupersededLists are the lists of rules among Origins that gave way to FiltersBy or ActionBy, each as a
	// whole, strongest first.
	SupersededLists []SupersededList
	// Superseded are written rules that gave way as a whole: nothing of them holds, and
	// policies on them do not act here.
	Superseded []*api.Origin
	// IncludedBy are the objects that include the rule, outermost first: policies on them
	// act on it, weaker than those on its own objects.
	IncludedBy []*api.Origin
	// Inline are fields of policies that the objects say themselves, weakest first.
	Inline []Inline
	// NoPolicies says that no policy acts: nobody wrote the rule.
	NoPolicies bool
}

// SupersededList is a list of a rule of which something else holds, while another does not: its filters, or
// where it sends requests.
type SupersededList struct {
	Origin   *api.Origin
	Filters  []Filter
	Redirect *Redirect    // the last one among its filters
	Backends []BackendRef // of one that loses its backends; else nil
}

// OfFilters reports whether the list that gave way is that of the filters.
func (l *SupersededList) OfFilters() bool { return l.Backends == nil }

// Ordered are the rows of rules: their single matches, those that compare finds
// equal in the order of the rules. A rule without matches has none and takes
// nothing; one for everything says so by CatchAll.
func Ordered(rules []*MergedRule, compare func(a, b *match.Match) int) []Row {
	rows := make([]Row, 0, len(rules))
	for _, c := range rules {
		for i := range c.Matches {
			rows = append(rows, Row{c, c.Matches[i]})
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return compare(&a.Match, &b.Match) })
	return rows
}
