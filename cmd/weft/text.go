package main

import (
	"github.com/weftmesh/weft/inspect/terminal"
)

// style is how explanations are printed: in colour on a terminal.
func (a *app) style() terminal.Style { return terminal.Style{Colour: colourful(a.out)} }
