// Command gatewaybundle packs the definitions of the Gateway API, as the module that weft is
// built with publishes them: a stream of YAML for each channel, compressed.
//
//	gatewaybundle -to DIR
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/weftmesh/weft/deploy"
)

const module = "sigs.k8s.io/gateway-api"

func main() {
	to := flag.String("to", "", "directory of the bundles")
	flag.Parse()
	if err := run(*to); err != nil {
		fmt.Fprintln(os.Stderr, "gatewaybundle:", err)
		os.Exit(1)
	}
}

func run(to string) error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return fmt.Errorf("where is %s: %w", module, err)
	}
	for _, channel := range deploy.Channels {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "config", "crd", channel, "gateway*.yaml"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("%s has no definitions of channel %s: %w", module, channel, err)
		}
		packed, err := pack(files)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, channel+".yaml.gz"), packed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pack joins files of YAML, and compresses them alike each time.
func pack(files []string) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Fprintf(z, "---\n%s\n", bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("---")))); err != nil {
			return nil, err
		}
	}
	err = z.Close()
	return out.Bytes(), err
}
