// Command published lists the fields of a custom resource as its project publishes
// them, a line each: the path, where [] stands for every element of a list and {} for
// every value of a map, and the type.
//
//	published -module MODULE@VERSION -file FILE -kind KIND -version VERSION -o OUT
//
// FILE is a path in the module and may hold several CustomResourceDefinitions.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// schema is the part of an OpenAPI v3 schema that says which fields there are.
type schema struct {
	Type                 string            `yaml:"type"`
	Properties           map[string]schema `yaml:"properties"`
	Items                *schema           `yaml:"items"`
	AdditionalProperties *schema           `yaml:"additionalProperties"`
	IntOrString          bool              `yaml:"x-kubernetes-int-or-string"`
}

type definition struct {
	Spec struct {
		Names struct {
			Kind string `yaml:"kind"`
		} `yaml:"names"`
		Versions []struct {
			Name   string `yaml:"name"`
			Schema struct {
				Root schema `yaml:"openAPIV3Schema"`
			} `yaml:"schema"`
		} `yaml:"versions"`
	} `yaml:"spec"`
}

func main() {
	module := flag.String("module", "", "module and version that the definition is in")
	file := flag.String("file", "", "path in the module")
	kind := flag.String("kind", "", "kind of the resource")
	version := flag.String("version", "", "version of the resource")
	out := flag.String("o", "", "file to write")
	flag.Parse()
	if err := run(*module, *file, *kind, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "published:", err)
		os.Exit(1)
	}
}

func run(module, file, kind, version, out string) error {
	dir, err := download(module)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return err
	}
	root, err := find(text, kind, version)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var lines []string
	root.Properties["spec"].list("spec", &lines)
	slices.Sort(lines)
	head := fmt.Sprintf("# The fields of %s %s, published with %s. Written by hack/published.\n", kind, version, module)
	return os.WriteFile(out, []byte(head+strings.Join(lines, "\n")+"\n"), 0o644)
}

// download is the folder of a module.
func download(module string) (string, error) {
	get := exec.Command("go", "mod", "download", "-json", module)
	get.Stderr = os.Stderr
	text, err := get.Output()
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(text, &m); jsonErr != nil || m.Error != "" {
		return "", fmt.Errorf("download %s: %w", module, errors.Join(err, jsonErr, errors.New(m.Error)))
	}
	return m.Dir, err
}

func find(text []byte, kind, version string) (*schema, error) {
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var def definition
		if err := d.Decode(&def); errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("no definition of %s %s", kind, version)
		} else if err != nil {
			return nil, err
		}
		for i := range def.Spec.Versions {
			if v := &def.Spec.Versions[i]; def.Spec.Names.Kind == kind && v.Name == version {
				return &v.Schema.Root, nil
			}
		}
	}
}

func (s schema) list(path string, lines *[]string) {
	kind := s.Type
	if s.IntOrString {
		kind = "integer or string"
	}
	*lines = append(*lines, path+" "+kind)
	for name, p := range s.Properties {
		p.list(path+"."+name, lines)
	}
	if s.Items != nil {
		s.Items.list(path+"[]", lines)
	}
	if s.AdditionalProperties != nil {
		s.AdditionalProperties.list(path+"{}", lines)
	}
}
