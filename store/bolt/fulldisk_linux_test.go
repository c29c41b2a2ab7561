package bolt

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
)

// ownDisk makes the test binary one that has a small file system of its own.
const ownDisk = "WEFT_TEST_OWN_DISK"

// TestARealFullDisk: on a file system without room writes are refused as such, what was acknowledged is there and
// is served, and as soon as there is room writes are taken again, without a restart; after one all of it is there.
// It runs in namespaces of its own, with a file system of 8 MiB in memory.
func TestARealFullDisk(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(ownDisk); dir != "" {
		if err := syscall.Mount("none", dir, "tmpfs", 0, "size=8m"); err != nil {
			t.Fatal(err)
		}
		fillDisk(t, dir)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestARealFullDisk$", "-test.v")
	c.Env = append(os.Environ(), ownDisk+"="+t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	text, err := c.CombinedOutput()
	if os.Getenv("CI") != "" && err != nil { // there a missing namespace is a failure too
		t.Fatalf("%v\n%s", err, text)
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("NOT TESTED: user and mount namespaces cannot be made here: %v", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func fillDisk(t *testing.T, dir string) {
	s := opened(t, configOf(dir))
	acknowledged := map[api.Ref]bool{}
	put := func(name string) error {
		o := storetest.Service(t, name, 1)
		_, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: o}))
		if err == nil {
			acknowledged[o.Ref] = true
		}
		return err
	}
	holds := func(when string) {
		t.Helper()
		now := s.Snapshot()
		for ref := range acknowledged {
			if !now.Has(ref) {
				t.Errorf("%s: %s is gone", when, ref)
			}
		}
		if got := now.CountOfKind(api.KindMeshService); got != len(acknowledged) {
			t.Errorf("%s: %d are there, and %d were acknowledged", when, got, len(acknowledged))
		}
	}
	if err := put("first"); err != nil || s.Health() != nil {
		t.Fatalf("with room: %v, %v", err, s.Health())
	}
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		_, err = filler.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	err = nil
	for i := 0; err == nil && i < 2000; i++ {
		err = put(fmt.Sprint("full-", i))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("without room: %v", err)
	}
	if err := s.Health(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("without room it is %v", err)
	}
	holds("without room")
	if err := errors.Join(filler.Close(), os.Remove(filler.Name())); err != nil {
		t.Fatal(err)
	}
	if err := put("room"); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := s.Health(); err != nil {
		t.Errorf("with room again it is %v", err)
	}
	holds("with room again")
	closing(t, s)
	s = opened(t, configOf(dir))
	defer closing(t, s)
	holds("after a restart")
}
