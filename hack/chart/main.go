// Command chart writes those parts of the Helm chart that follow from Go: the values with
// their texts, their schema, the chart's page, and the templates of roles and webhooks.
//
//	chart -to DIR
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weftmesh/weft/api/decode"
)

func main() {
	to := flag.String("to", "", "directory of the chart")
	flag.Parse()
	if err := run(*to); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(to string) error {
	for name, write := range map[string]func() (string, error){
		"values.yaml":             valuesFile,
		"values.schema.json":      schemaFile,
		"README.md":               page,
		"templates/roles.yaml":    roles,
		"templates/webhooks.yaml": hooks,
	} {
		text, err := write()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// toYAML prints what JSON would print, in its order.
func toYAML(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	out, err := decode.ToYAML(text)
	return string(out), err
}
