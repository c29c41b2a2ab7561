package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// FindEnvoy finds Envoy's binary: the given path, then WEFT_ENVOY, then PATH,
// then a .tools directory here or beside the program, or in a directory above, where `make tools`
// puts it.
func FindEnvoy(given string) (string, error) {
	if given != "" {
		return runnable("--envoy", given)
	}
	if path := os.Getenv("WEFT_ENVOY"); path != "" {
		return runnable("WEFT_ENVOY", path)
	}
	if path, err := exec.LookPath("envoy"); err == nil {
		return path, nil
	}
	if path, ok := inTools(); ok {
		return path, nil
	}
	return "", errors.New("no Envoy: it is neither given by --envoy or WEFT_ENVOY, nor on PATH, nor in .tools here or beside the program; run `make tools`, or give --envoy FILE")
}

func runnable(source, path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s %s: there is no such file; name Envoy's binary", source, path)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s %s: cannot be run; name Envoy's binary", source, path)
	}
	return filepath.Abs(path)
}

// inTools looks where the virtual environment of `make tools` has the binary: from the current
// directory upwards, then from that of the program, which may be called from anywhere.
func inTools() (string, bool) {
	for _, of := range []func() (string, error){os.Getwd, programDir} {
		if dir, err := of(); err == nil {
			if path, ok := toolsAbove(dir); ok {
				return path, true
			}
		}
	}
	return "", false
}

// programDir is where the program itself is, behind symbolic links.
func programDir() (string, error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	return filepath.Dir(program), err
}

// toolsAbove looks for .tools in a directory and those above it.
func toolsAbove(dir string) (string, bool) {
	for {
		for _, pattern := range []string{"envoy", "bin/envoy", "*/lib/python*/site-packages/envoy/_bin/envoy"} {
			found, _ := filepath.Glob(filepath.Join(dir, ".tools", pattern)) // the patterns are sound
			for _, path := range found {
				if real, err := runnable(".tools", path); err == nil {
					return real, true
				}
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
