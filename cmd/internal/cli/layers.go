package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api/nearest"
)

// Layer sets every flag that the command line leaves out from the environment,
// else from the file. Unknown keys and invalid values are refused, all at once.
func Layer(flags *pflag.FlagSet, file string) error {
	given := map[string]bool{"config": true, "help": true}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	var errs *multierror.Error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "WEFT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		text := os.Getenv(name)
		if text == "" || given[f.Name] {
			return
		}
		given[f.Name] = true
		if err := flags.Set(f.Name, text); err != nil {
			errs = multierror.Append(errs, Usage("%s: %v", name, err))
		}
	})
	if file != "" {
		errs = multierror.Append(errs, layerFile(flags, file, given)...)
	}
	if err := errs.ErrorOrNil(); err != nil {
		return &Exit{Status: StatusUsage, Err: err}
	}
	return nil
}

func layerFile(flags *pflag.FlagSet, file string, given map[string]bool) []error {
	text, err := os.ReadFile(file)
	if err != nil {
		return []error{fmt.Errorf("--config: %w", err)}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return []error{fmt.Errorf("--config %s: %w", file, err)}
	}
	if len(doc.Content) == 0 {
		return nil // nothing but comments
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return []error{fmt.Errorf("%s:%d:%d: this is not a mapping; write flag: value", file, root.Line, root.Column)}
	}
	var errs []error
	seen := map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		if err := layerKey(flags, root.Content[i], root.Content[i+1], given, seen); err != nil {
			n := root.Content[i]
			errs = append(errs, fmt.Errorf("%s:%d:%d: %s: %w", file, n.Line, n.Column, n.Value, err))
		}
	}
	return errs
}

// layerKey sets one flag from one key of the file.
func layerKey(flags *pflag.FlagSet, key, value *yaml.Node, given, seen map[string]bool) error {
	f := flags.Lookup(key.Value)
	switch {
	case f == nil || key.Value == "config" || key.Value == "help":
		var names []string
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest.To(key.Value, names, 1); len(near) > 0 {
			return fmt.Errorf("there is no such setting; did you mean %s?", near[0])
		}
		return errors.New("there is no such setting; see `weft serve --help`")
	case seen[key.Value]:
		return errors.New("the setting stands twice; remove one")
	}
	seen[key.Value] = true
	texts := []string{value.Value}
	switch {
	case value.Kind == yaml.SequenceNode && f.Value.Type() == "stringSlice":
		texts = nil
		for _, n := range value.Content {
			texts = append(texts, n.Value)
		}
	case value.Kind != yaml.ScalarNode:
		return fmt.Errorf("the value is no %s; write one", f.Value.Type())
	}
	if given[key.Value] {
		return nil // a flag or the environment says otherwise
	}
	if err := flags.Set(key.Value, strings.Join(texts, ",")); err != nil {
		return fmt.Errorf("%w; write a %s", err, f.Value.Type())
	}
	return nil
}
