package callers_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	servicev3 "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/weftmesh/weft/sidecar/accesslog"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/callers"
)

func at(address string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}}}
}

func entry(from string, second int64, tls accesslogv3.TLSProperties_TLSVersion) *accesslogv3.TCPAccessLogEntry {
	return &accesslogv3.TCPAccessLogEntry{CommonProperties: &accesslogv3.AccessLogCommon{
		DownstreamDirectRemoteAddress: at(from, 5000), DownstreamLocalAddress: at("10.0.0.1", 8080),
		StartTime: timestamppb.New(time.Unix(second, 0)), TlsProperties: &accesslogv3.TLSProperties{TlsVersion: tls}}}
}

// TestWhoCallsInPlainText: those who proved nothing are kept, the last of them, however many.
func TestWhoCallsInPlainText(t *testing.T) {
	t.Parallel()
	l := callers.New()
	g := grpc.NewServer()
	r := &accesslog.Receiver{Connection: l.Take}
	r.Register(g)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = g.Serve(listener) }() // ends by Stop
	t.Cleanup(g.Stop)
	c, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s, err := servicev3.NewAccessLogServiceClient(c).StreamAccessLogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := []*accesslogv3.TCPAccessLogEntry{entry("10.9.9.9", 9999, accesslogv3.TLSProperties_TLSv1_2), entry("nobody\n", 9999, 0)}
	for i := range int64(100) {
		list = append(list, entry(fmt.Sprintf("10.1.0.%d", i), 1000+i, 0), entry("10.2.0.1", 1000+i, 0))
	}
	if err := s.Send(&servicev3.StreamAccessLogsMessage{LogEntries: &servicev3.StreamAccessLogsMessage_TcpLogs{TcpLogs: &servicev3.StreamAccessLogsMessage_TCPAccessLogEntries{LogEntry: list}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	if r.Received() != uint64(len(list)) {
		t.Errorf("%d of %d entries are counted", r.Received(), len(list))
	}
	got, changes := l.Senders()
	if len(got) != attach.MostSenders || changes != 200 {
		t.Fatalf("%d senders, %d changes", len(got), changes)
	}
	want := []*attach.Sender{{Address: "10.1.0.99", Port: 8080, Connections: 1, Last: 1099}, {Address: "10.2.0.1", Port: 8080, Connections: 100, Last: 1099}}
	if diff := cmp.Diff(want, got[:2], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// TestCount: connections are told apart by their chains.
func TestCount(t *testing.T) {
	t.Parallel()
	got, err := callers.Count(strings.NewReader(`http.inbound_127.0.0.1_8080.mtls.downstream_cx_active: 2
http.inbound_127.0.0.1_8080.mtls.downstream_cx_total: 5
http.inbound_127.0.0.1_8080.downstream_cx_active: 6
http.inbound_127.0.0.1_8080.downstream_cx_total: 7
http.inbound_127.0.0.1_8080.plain.downstream_cx_active: 1
http.inbound_127.0.0.1_8080.plain.downstream_cx_total: 3
tcp.inbound_127.0.0.1_8080.own.downstream_cx_active: 1
tcp.inbound_127.0.0.1_8080.own.downstream_cx_total: 1
tcp.inbound_[fd00__1]_9000.mtls.downstream_cx_total: 4
http.admin.downstream_cx_total: 9
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []*attach.Inbound{{Address: "127.0.0.1_8080", Tls: 2, TlsTotal: 5, Plain: 8, PlainTotal: 11}, {Address: "[fd00__1]_9000", TlsTotal: 4}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}
