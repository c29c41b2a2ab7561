package netnstest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds every connection.
const patience = 5 * time.Second

// Do runs f in the namespace on a thread of its own, and by a user as far as the kernel
// looks at the owner of sockets and files. What f opens stays where it was opened. f must
// not start goroutines that open something: they run elsewhere.
func (n *Namespace) Do(uid int, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		done <- func() error {
			ns, err := os.Open(filepath.Join("/run/netns", n.Name))
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter %s: %w", n.Name, err)
			}
			if uid != 0 {
				if _, err := unix.SetfsuidRetUid(uid); err != nil {
					return err
				}
			}
			return f()
		}()
	}()
	return <-done
}

// Listen is a listener of a user in the namespace, until the test is over.
func (n *Namespace) Listen(uid int, address string) net.Listener {
	n.t.Helper()
	var l net.Listener
	if err := n.Do(uid, func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	}); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	return l
}

// ListenPacket is the same over UDP.
func (n *Namespace) ListenPacket(uid int, address string) net.PacketConn {
	n.t.Helper()
	var l net.PacketConn
	if err := n.Do(uid, func() (err error) {
		l, err = net.ListenPacket("udp", address)
		return err
	}); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	return l
}

// Dial is Connect for one exchange: the connection has a deadline.
func (n *Namespace) Dial(uid int, network string, from, to netip.AddrPort) (net.Conn, error) {
	conn, err := n.Connect(uid, network, from, to)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(patience))
	}
	return conn, err
}

// Connect connects as a user, from an address if it is valid; port 0 is any. Network is
// tcp or udp.
func (n *Namespace) Connect(uid int, network string, from, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Timeout: patience}
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(from)
		if network == "udp" {
			d.LocalAddr = net.UDPAddrFromAddrPort(from)
		}
	}
	var conn net.Conn
	dial := func() (err error) {
		conn, err = d.Dial(network, to.String())
		return err
	}
	err := n.Do(uid, dial)
	// A program that starts holds this process's sockets until it runs, closed ones too.
	for end := time.Now().Add(patience); errors.Is(err, unix.EADDRINUSE) && time.Now().Before(end); err = n.Do(uid, dial) {
		time.Sleep(time.Millisecond)
	}
	return conn, err
}
