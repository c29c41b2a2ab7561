package mtls

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestStatName: an inbound is named as Envoy names a listener's statistics: the address, in brackets
// where it is one of IPv6, and the port, with no colon left.
func TestStatName(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "::1", "fd00::a:1", "pay.local", ""} {
		want := strings.ReplaceAll(net.JoinHostPort(address, strconv.Itoa(8080)), ":", "_")
		if got := string(StatName([]byte("to "), address, 8080)); got != "to "+want {
			t.Errorf("%s, wanted %s", got, want)
		}
	}
}
