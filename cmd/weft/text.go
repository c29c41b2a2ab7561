package main

import "github.com/weftmesh/weft/inspect"

// style is how explanations are printed: in colour on a terminal.
func (a *app) style() inspect.Style { return inspect.Style{Colour: colourful(a.out)} }
