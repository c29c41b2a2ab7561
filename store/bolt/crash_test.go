package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/bolt"
)

// The test binary is its own victim: with these set it writes until it dies.
const (
	victimDir   = "WEFT_TEST_VICTIM_DIR"
	victimLimit = "WEFT_TEST_VICTIM_LIMIT" // greatest size of a file, empty for none
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		victim(dir, os.Getenv(victimLimit))
		return
	}
	os.Exit(m.Run())
}

// victim applies three documents at a time and prints the number of each apply
// that was acknowledged; it ends at the first error.
func victim(dir, limit string) {
	if n, err := strconv.ParseUint(limit, 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ) // then the write fails as on a full disk
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
	}
	s, err := bolt.Open(config(dir))
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for i := int(s.Snapshot().Revision()); i < 10_000; i++ {
		var writes []store.Write
		for _, part := range []string{"a", "b", "c"} {
			o, err := storetest.Decode("", fmt.Appendf(nil, "type: MeshService\nmesh: default\nname: %s\nspec:\n  ports: [{port: %d}]\n", name(part, i), i%1000+1))
			if err != nil {
				panic(err)
			}
			writes = append(writes, store.Write{Put: o})
		}
		if _, _, err := s.Apply(context.Background(), store.Writes(writes...)); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("ack", i)
	}
}

func name(part string, i int) string { return fmt.Sprintf("%s%d", part, i) }

func start(t *testing.T, dir, limit string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, victimLimit+"="+limit)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// verify opens what a victim left: all that was acknowledged, nothing torn.
func verify(t *testing.T, dir string, acked int) {
	t.Helper()
	s, err := bolt.Open(config(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer closeNow(t, s)
	snapshot := s.Snapshot()
	has := func(part string, i int) bool {
		_, ok := snapshot.Get(api.Ref{Kind: "MeshService", Mesh: "default", Name: name(part, i)})
		return ok
	}
	for i := 0; i <= acked; i++ {
		if !has("a", i) || !has("b", i) || !has("c", i) {
			t.Fatalf("apply %d of %d was acknowledged and is not there", i, acked)
		}
	}
	if snapshot.Len()%3 != 0 || snapshot.Len()/3 > acked+2 {
		t.Fatalf("%d documents after %d applies of three: one is torn", snapshot.Len(), acked+1)
	}
	// The history has each of the revisions, and with it what was before.
	all := storetest.Revisions(t, s)
	if len(all) != int(snapshot.Revision()) {
		t.Fatalf("%d revisions are kept of %d", len(all), snapshot.Revision())
	}
	for i := 0; i < len(all); i += 1 + len(all)/10 {
		r := all[i]
		if then := storetest.Then(t, s, r.Number); len(r.Objects) != 3 || then.Len() != 3*int(r.Number) {
			t.Fatalf("revision %d changed %d documents, and there were %d", r.Number, len(r.Objects), then.Len())
		}
	}
}

func TestAKilledProcessLosesNothingAndTearsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(3, 4))
	acked := -1
	for range 15 {
		cmd, out := start(t, dir, "")
		stopAt, dying := acked+1+random.IntN(60), false
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if word, n, _ := strings.Cut(lines.Text(), " "); word == "ack" {
				acked, _ = strconv.Atoi(n)
			} else {
				t.Fatal(lines.Text())
			}
			if acked >= stopAt && !dying { // an apply may be kept and not acknowledged
				dying = true
				// Somewhere inside of the following applies.
				time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait()
		verify(t, dir, acked)
	}
	if acked < 15 {
		t.Errorf("only %d applies happened", acked)
	}
}

func TestAFullDiskRefusesAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := start(t, dir, "200000")
	acked, refusal := -1, ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if word == "ack" {
			acked, _ = strconv.Atoi(rest)
		} else {
			refusal = rest
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if acked < 0 || !strings.Contains(refusal, "weft.db") {
		t.Errorf("%d applies, then %q", acked+1, refusal)
	}
	verify(t, dir, acked)
}
