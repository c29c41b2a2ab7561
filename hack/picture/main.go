// Command picture draws what weft prints on a terminal, for the README: it asks
// the simulator about a request of the shop in examples, prints the verdict with
// the colours of a terminal, and makes an SVG of that text.
//
//go:generate go run . -to ../../docs/pictures/simulate.svg ../../examples/shop
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

func main() {
	to := flag.String("to", "", "file to write")
	flag.Parse()
	if err := draw(flag.Arg(0), *to); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func draw(documents, to string) error {
	text, err := screen(documents)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, []byte(svg(text)), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// command is what the picture shows.
const command = "$ weft simulate -m shop --from web-1 POST http://orders/orders -f examples/shop"

// screen is a terminal's content after the command.
func screen(documents string) (string, error) {
	reading, err := world.Read(nil, documents)
	if err != nil {
		return "", err
	}
	model, _ := world.Compile(world.Snapshot(reading.Objects...))
	from := api.Ref{Kind: api.KindDataplane, Mesh: "shop", Name: "web-1"}
	verdict, err := sim.Run(model, from, wire.Request{Method: "POST", URL: "http://orders/orders"})
	if err != nil {
		return "", fmt.Errorf("simulate: %w", err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\x1b[1m%s\x1b[0m\n", command)
	if err := terminal.VerdictText(&out, verdict, terminal.Style{Colour: true}); err != nil {
		return "", fmt.Errorf("print the verdict: %w", err)
	}
	return out.String(), nil
}
