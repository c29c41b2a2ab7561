package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weftmesh/weft/cmd/weft/internal/demo"
	"github.com/weftmesh/weft/hack/mutate/planted"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
)

func TestMain(m *testing.M) {
	envoytest.Waits(4)
	testscript.Main(m, map[string]func(){"weft": main, "curl": fetch})
}

// TestScripts runs the scripts of testdata/script: what users type, and what
// they see and get back.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			envoy, err := agent.FindEnvoy("")
			if err != nil {
				return err // a missing Envoy fails: nothing is skipped
			}
			e.Setenv("WEFT_ENVOY", envoy)
			e.Setenv("NO_COLOR", "1")
			e.Setenv(planted.Variable, os.Getenv(planted.Variable))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"eventually": eventually,
			"freeports":  freeports,
			"idle":       idle,
			"ready":      ready,
			"status":     status,
		},
	})
}

// freeports NAME... sets each variable to a port of its own that is free.
func freeports(ts *testscript.TestScript, _ bool, names []string) {
	ports, err := demo.FreePorts(len(names))
	ts.Check(err)
	for i, name := range names {
		ts.Setenv(name, fmt.Sprint(ports[i]))
	}
}

// idle N ADDRESS opens connections that say nothing, until the script ends.
func idle(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range n {
		c, err := net.Dial("tcp", args[1])
		ts.Check(err)
		ts.Defer(func() { _ = c.Close() })
	}
}

// ready URL waits until it answers 200; with ! until it answers something else.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(args[0])
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil && resp.StatusCode == http.StatusOK) != neg {
			return
		}
	}
	ts.Fatalf("%s is not as wanted after two minutes", args[0])
}

// eventually PATTERN COMMAND... runs a command again until a line of what it prints matches.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if ts.Exec(args[1], args[2:]...) == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%v prints nothing like %q in two minutes", args[1:], args[0])
}

// status N COMMAND... runs a command that must exit with N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = fmt.Sprint(exit.ExitCode())
	}
	if (got == args[0]) == neg {
		ts.Fatalf("%v: exit status %s, want %s", args[1:], got, args[0])
	}
}

// TestScriptsAreThere keeps the runner from passing with nothing to run.
func TestScriptsAreThere(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("testdata/script")
	if err != nil || len(entries) < 5 {
		t.Fatalf("%d scripts, %v", len(entries), err)
	}
}
