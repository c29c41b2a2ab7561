package netnstest

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Answer makes a server of a user say to each connection who it is and where the
// connection was going before it was redirected: "NAME ADDRESS:PORT".
func (n *Namespace) Answer(uid int, name, address string) {
	n.t.Helper()
	l := n.Listen(uid, address)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the test is over
			}
			fmt.Fprintf(conn, "%s %s", name, originalDestination(conn.(*net.TCPConn)))
			conn.Close()
		}
	}()
}

// AnswerPackets is the same over UDP, where nobody knows where a packet was going.
func (n *Namespace) AnswerPackets(uid int, name, address string) {
	n.t.Helper()
	l := n.ListenPacket(uid, address)
	go func() {
		b := make([]byte, 512)
		for {
			size, from, err := l.ReadFrom(b)
			if err != nil {
				return // the test is over
			}
			_, _ = l.WriteTo(append([]byte(name+" "), b[:size]...), from)
		}
	}()
}

// Ask is what a server says, or why nobody does: "refused", "timeout", "closed".
func (n *Namespace) Ask(uid int, from netip.Addr, to netip.AddrPort) string {
	conn, err := n.Dial(uid, "tcp", netip.AddrPortFrom(from, 0), to)
	if err != nil {
		return failure(err)
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err != nil {
		return failure(err)
	}
	if len(text) == 0 {
		return "closed"
	}
	return string(text)
}

// AskPacket sends a packet, from an address and port if they are valid, and is what comes
// back.
func (n *Namespace) AskPacket(uid int, from, to netip.AddrPort, question string) string {
	conn, err := n.Dial(uid, "udp", from, to)
	if err != nil {
		return failure(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(question)); err != nil {
		return failure(err)
	}
	b := make([]byte, 512)
	size, err := conn.Read(b)
	if err != nil {
		return failure(err)
	}
	return string(b[:size])
}

func failure(err error) string {
	for _, word := range []string{"refused", "timeout", "reset", "unreachable"} {
		if strings.Contains(err.Error(), word) {
			return word
		}
	}
	return err.Error()
}

// soOriginalDst asks netfilter; the number is the same for both families.
const soOriginalDst = 80

// originalDestination is where a connection was going: its own address if nobody
// redirected it.
func originalDestination(conn *net.TCPConn) netip.AddrPort {
	local := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	out := netip.AddrPortFrom(local.Addr().Unmap(), local.Port())
	raw, err := conn.SyscallConn()
	if err != nil {
		return out
	}
	_ = raw.Control(func(fd uintptr) {
		if out.Addr().Is4() {
			// The structure is as large as a sockaddr_in: family, port and address.
			if m, err := unix.GetsockoptIPv6Mreq(int(fd), unix.SOL_IP, soOriginalDst); err == nil {
				out = netip.AddrPortFrom(netip.AddrFrom4([4]byte(m.Multiaddr[4:8])), uint16(m.Multiaddr[2])<<8|uint16(m.Multiaddr[3]))
			}
			return
		}
		if m, err := unix.GetsockoptIPv6MTUInfo(int(fd), unix.SOL_IPV6, soOriginalDst); err == nil {
			port := (*[2]byte)(unsafe.Pointer(&m.Addr.Port)) // in network order
			out = netip.AddrPortFrom(netip.AddrFrom16(m.Addr.Addr), uint16(port[0])<<8|uint16(port[1]))
		}
	})
	return out
}
