package intercept

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-multierror"
)

// patience bounds each program that is run. They wait up to lockWait for others.
const patience = 30 * time.Second

// find is where a program is. Users other than root often lack the system's in PATH.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is missing; install the package %s", name, packageOf(name))
}

func packageOf(name string) string {
	switch {
	case name == "ip":
		return "iproute2"
	case name == "nft":
		return "nftables"
	}
	return "iptables"
}

func there(names ...string) bool {
	for _, name := range names {
		if _, err := find(name); err != nil {
			return false
		}
	}
	return true
}

// run is what a program prints, given text to read.
func run(ctx context.Context, text string, command ...string) (string, error) {
	path, err := find(command[0])
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, command[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin = strings.NewReader(text)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, firstWords(said.String()+out.String()))
	}
	return out.String(), nil
}

// firstWords are enough of what a program says to see what is wrong.
func firstWords(text string) string {
	const enough = 500
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > enough {
		text = text[:enough] + "…"
	}
	return text
}

// alone makes this process the only one that changes the redirection of its network
// namespace, until it releases or ends. Two at once would both find nothing, and both add.
// The lock is a socket without a file: such names belong to the network namespace.
func alone(ctx context.Context) (release func(), _ error) {
	const name, wait = "@weft-transparent-proxy", 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		l, err := net.Listen("unix", name)
		if err == nil {
			return func() { _ = l.Close() }, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("lock the redirection of this network namespace: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, errors.New("another weft changes the redirection of this network namespace; try again when it is done")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// The capabilities that programs need, by the numbers of capabilities(7).
const (
	netAdmin = 12
	netRaw   = 13
)

// capable reports whether this process has a capability in effect.
func capable(capability uint) bool {
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return os.Geteuid() == 0
	}
	for line := range strings.Lines(string(text)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && set&(1<<capability) != 0
		}
	}
	return false
}

// rights are what is missing to use a backend.
func rights(b Firewall) error {
	var errs *multierror.Error
	if !capable(netAdmin) {
		errs = multierror.Append(errs, errors.New("the capability NET_ADMIN is missing; run it as root, in a container with that capability"))
	}
	if b == IptablesLegacy && !capable(netRaw) {
		errs = multierror.Append(errs, errors.New("the capability NET_RAW is missing, which iptables-legacy needs; add it, or choose --backend nft"))
	}
	return errs.ErrorOrNil()
}

// hasIPv6 reports whether addresses of IPv6 can be added to the loopback device.
func hasIPv6() bool {
	if _, err := os.Stat("/proc/thread-self/net/if_inet6"); err != nil {
		return false
	}
	off, err := os.ReadFile("/proc/sys/net/ipv6/conf/lo/disable_ipv6")
	return err == nil && strings.TrimSpace(string(off)) == "0"
}

// hasSelf6 reports whether the loopback device has the address ::6.
func hasSelf6() bool {
	text, err := os.ReadFile("/proc/thread-self/net/if_inet6")
	self := fmt.Sprintf("%x", facts6.self.Addr().AsSlice())
	return err == nil && strings.Contains(string(text), self)
}

// legacyTables reports whether this network namespace has tables of iptables-legacy of a
// family. To look into one that is not there would make it.
func legacyTables(family int) bool {
	name := "/proc/thread-self/net/ip_tables_names"
	if family == 6 {
		name = "/proc/thread-self/net/ip6_tables_names"
	}
	text, err := os.ReadFile(name)
	return err == nil && len(bytes.TrimSpace(text)) > 0
}
