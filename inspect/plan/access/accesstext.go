package access

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weftmesh/weft/inspect/terminal"
)

// marks tell changes of verdicts apart without colour.
var marks = map[AccessChange]string{Widens: "! WIDENS", Both: "! WIDENS AND NARROWS", MayWiden: "! MAY WIDEN", Narrows: "narrows"}

// widens reports whether something may get in that did not.
func (a *Access) widens() bool { return a.Change != Narrows }

// who is the caller, in words.
func (a *Access) who() string {
	text := a.Caller.Identity
	if text == "" {
		text = strings.TrimSuffix("plaintext of "+cmp.Or(a.Caller.Text(3), "anybody"), " of ")
	}
	if a.Caller.Was != "" {
		text += ", before " + a.Caller.Was
	}
	return text
}

func (a *Access) where() string {
	text := fmt.Sprintf("%s at port %d %s", a.Destination.Service, a.Destination.Port, a.Destination.Protocol)
	if a.Rule != nil {
		text += ", " + a.Rule.Match + " of " + terminal.OriginText(LastOf(a.Rule.Origins))
	}
	return text
}

func (a *Access) verdicts() string {
	text := a.Before + " → " + a.After
	if len(a.Requests) > 0 {
		text += ", such as " + strings.Join(a.Requests[:min(len(a.Requests), 3)], "; ")
	}
	return text
}

// by is whose word that is afterwards, in words.
func (a *Access) by() string {
	if a.By == nil {
		return a.Reason
	}
	return a.By.Ref.String() + " " + string(a.Field)
}

// Text is the verdict in a line.
func (a *Access) Text() string {
	text := fmt.Sprintf("%s  %s calls %s: %s", marks[a.Change], a.who(), a.where(), a.verdicts())
	if by := a.by(); by != "" {
		text += "  " + by
	}
	return text
}

// permissionsHead counts the verdicts that change.
func permissionsHead(list []Access, cut int) string {
	wider := 0
	for i := range list {
		if list[i].widens() {
			wider++
		}
	}
	text := fmt.Sprintf("who may call: %s changed", terminal.Counted(len(list)+cut, "verdict", "verdicts"))
	if wider > 0 {
		text += fmt.Sprintf(", %d of them let in more", wider)
	}
	return text
}

// Text writes the verdicts that change, a line each.
func Text(list []Access, cut int, line func(string, ...any), s terminal.Style) {
	if len(list) == 0 {
		return
	}
	line("")
	line("%s", s.Paint("1", permissionsHead(list, cut)))
	for i := range list {
		a := &list[i]
		colour := "31"
		if !a.widens() {
			colour = "33"
		}
		line("  %s  %s calls %s: %s  %s", s.Paint(colour, marks[a.Change]), a.who(), a.where(), a.verdicts(), s.Paint("2", a.by()))
	}
	if cut > 0 {
		line("  and %d more", cut)
	}
}

// Markdown writes them as a table.
func Markdown(list []Access, cut int, line func(string, ...any)) {
	if len(list) == 0 {
		return
	}
	line("\n**%s**\n", terminal.Cell.Replace(permissionsHead(list, cut)))
	line("| change | caller | destination | before → after | by |\n|---|---|---|---|---|")
	for i := range list {
		a := &list[i]
		mark := marks[a.Change]
		row := []string{a.who(), a.where(), a.verdicts(), a.by()}
		for i := range row {
			row[i] = terminal.Cell.Replace(row[i])
		}
		if a.widens() {
			mark = "**" + mark + "**"
		}
		line("| %s | %s |", mark, strings.Join(row, " | "))
	}
	if cut > 0 {
		line("\nand %d more", cut)
	}
}
