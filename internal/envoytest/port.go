package envoytest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Port is a TCP port on loopback that nobody listens at and that no other test gets
// until this one ends, be it of this process or of another user of this package on the
// machine: Envoys of tests that run at once would share it, and each get some of the
// other's connections. It lies below the range from which outgoing connections take
// theirs.
func Port(t testing.TB) uint32 {
	t.Helper()
	const lowest, ephemeral = 10_240, 32_768
	for range 100 {
		port := lowest + rand.IntN(ephemeral-lowest)
		release, err := reserve(port)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			t.Cleanup(release)
			return uint32(port)
		}
		release()
	}
	t.Fatal("no free port among a hundred")
	return 0
}

// reserve takes the lock that stands for the port: EWOULDBLOCK if another has it. The
// system gives it back when the process ends, however it ends.
func reserve(port int) (release func(), err error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("weft-test-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(port)), os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}
