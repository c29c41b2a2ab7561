// Command openapi writes the description of the API that inspect/web embeds, from the
// code of its endpoints and the comments of what they answer. It is run by go generate
// in inspect/web.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/comments"
	"github.com/weftmesh/weft/internal/openapi"
)

func main() {
	to := flag.String("to", "", "file to write")
	root := flag.String("root", ".", "folder of go.mod")
	flag.Parse()
	if err := run(*root, *to); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(root, to string) error {
	text, err := openapi.Describe(world.Catalog(), world.Kinds(), comments.New("github.com/weftmesh/weft/", root).About)
	if err != nil {
		return fmt.Errorf("describe the API: %w", err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		return fmt.Errorf("write the description: %w", err)
	}
	return nil
}
