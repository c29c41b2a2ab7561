package loglines_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	logsv1 "go.opentelemetry.io/proto/otlp/logs/v1"
	"golang.org/x/sys/unix"

	"github.com/weftmesh/weft/sidecar/loglines"
	"github.com/weftmesh/weft/xds/bootstrap"
)

func text(s string) *commonv1.AnyValue {
	return &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: s}}
}

func list(members ...*commonv1.KeyValue) *commonv1.AnyValue {
	return &commonv1.AnyValue{Value: &commonv1.AnyValue_KvlistValue{KvlistValue: &commonv1.KeyValueList{Values: members}}}
}

func member(key string, v *commonv1.AnyValue) *commonv1.KeyValue {
	return &commonv1.KeyValue{Key: key, Value: v}
}

// line is a record with a line of two parts for a receiver.
func line(to, literal, found string) *commonv1.AnyValue {
	return list(member(bootstrap.LogTo, text(to)), member(bootstrap.LogText, list(member(bootstrap.PartLiteral, text(literal)), member(bootstrap.PartText, text(found)))))
}

// send sends records as Envoy does.
func send(t *testing.T, f *loglines.Forwarder, bodies ...*commonv1.AnyValue) {
	t.Helper()
	s := &logsv1.ScopeLogs{}
	for _, b := range bodies {
		s.LogRecords = append(s.LogRecords, &logsv1.LogRecord{Body: b})
	}
	if _, err := f.Export(t.Context(), &collectorv1.ExportLogsServiceRequest{ResourceLogs: []*logsv1.ResourceLogs{{ScopeLogs: []*logsv1.ScopeLogs{s}}}}); err != nil {
		t.Fatal(err)
	}
}

// start runs a forwarder; end ends it, and returns when it has ended.
func start(t *testing.T, dir string, log io.Writer) (f *loglines.Forwarder, end func()) {
	t.Helper()
	f = loglines.New(dir, slog.New(slog.NewTextHandler(log, nil)))
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	end = func() { stop(); running.Wait() }
	t.Cleanup(end)
	return f, end
}

func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// sink is a receiver by TCP.
type sink struct {
	net.Listener
	mu   sync.Mutex
	text bytes.Buffer
	conn net.Conn
}

func listen(t *testing.T, address string) *sink {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{Listener: l}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conn = conn
			s.mu.Unlock()
			go func() {
				for b := make([]byte, 4096); ; {
					n, err := conn.Read(b)
					s.mu.Lock()
					s.text.Write(b[:n])
					s.mu.Unlock()
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(s.end)
	return s
}

func (s *sink) got() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *sink) end() {
	_ = s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// TestReceiverComesBack: what a receiver misses while it is away it gets when it is there again.
func TestReceiverComesBack(t *testing.T) {
	t.Parallel()
	first := listen(t, "127.0.0.1:0")
	at, log := first.Addr().String(), &bytes.Buffer{}
	f, end := start(t, t.TempDir(), log)
	send(t, f, line("tcp:"+at, "a", "1"))
	until(t, "the first line comes", func() bool { return first.got() == "a1\n" })
	first.end()
	time.Sleep(50 * time.Millisecond) // the end of the connection has come here
	send(t, f, line("tcp:"+at, "a", "2"), line("tcp:"+at, "a", "3"))
	second := listen(t, at)
	until(t, "the others come", func() bool { return second.got() == "a2\na3\n" })
	end()
	if n := f.Dropped(); n != 0 {
		t.Errorf("%d lines are lost", n)
	}
}

// TestReceiverAway: who is not there costs the lines that have no room to wait, which is said, and costs
// others nothing.
func TestReceiverAway(t *testing.T) {
	t.Parallel()
	away := listen(t, "127.0.0.1:0")
	away.end()
	log := &bytes.Buffer{}
	there := listen(t, "127.0.0.1:0")
	f, end := start(t, t.TempDir(), log)
	long := strings.Repeat("x", 100<<10)
	for range 40 {
		send(t, f, line("tcp:"+away.Addr().String(), "", long))
	}
	send(t, f, line("tcp:"+there.Addr().String(), "", "y"))
	until(t, "the other receiver has its line", func() bool { return there.got() == "y\n" })
	if n := f.Dropped(); n < 15 || n > 30 {
		t.Errorf("%d of 40 lines of 100 KiB are lost before the end", n)
	}
	began := time.Now()
	end()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end takes %v", took)
	}
	if n := f.Dropped(); n != 40 {
		t.Errorf("%d lines are lost at the end, not all 40", n)
	}
	if !strings.Contains(log.String(), "lines of access logs are not delivered") || strings.Contains(log.String(), "xxx") {
		t.Errorf("the log says %q", log)
	}
}

// TestFiles: lines are added to a file, also to another one that took its name; only to regular files of the
// directory.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "a.log")
	is := func(file, want string) func() bool {
		return func() bool { b, err := os.ReadFile(file); return err == nil && string(b) == want }
	}
	f, end := start(t, dir, io.Discard)
	send(t, f, line("file:a.log", "", "1"))
	until(t, "the first line is there", is(path, "1\n"))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	send(t, f, line("file:a.log", "", "2"))
	until(t, "the second line is in a new file", is(path, "2\n"))
	if !is(path+".1", "1\n")() {
		t.Error("the file that was moved has more lines")
	}
	for name, make := range map[string]func(path string) error{
		"link": func(p string) error { return os.Symlink(filepath.Join(outside, "x"), p) },
		"pipe": func(p string) error { return unix.Mkfifo(p, 0o600) },
		"dir":  func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		if err := make(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		send(t, f, line("file:"+name, "", name))
	}
	send(t, f, line("file:../"+filepath.Base(outside)+"/x", "", "up"))
	end()
	if n := f.Dropped(); n != 4 {
		t.Errorf("%d lines are lost, not 4", n)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v lies outside, %v", left, err)
	}
}

// TestLastLines: what has come is sent when the sidecar ends.
func TestLastLines(t *testing.T) {
	t.Parallel()
	s, dir := listen(t, "127.0.0.1:0"), t.TempDir()
	f, end := start(t, dir, io.Discard)
	want := ""
	for i := range 1000 {
		send(t, f, line("tcp:"+s.Addr().String(), "line ", fmt.Sprint(i)), line("file:a.log", "line ", fmt.Sprint(i)))
		want += fmt.Sprintf("line %d\n", i)
	}
	end()
	until(t, "all lines have come", func() bool { return s.got() == want })
	if b, err := os.ReadFile(filepath.Join(dir, "a.log")); err != nil || string(b) != want {
		t.Errorf("the file has %d bytes, %v", len(b), err)
	}
	send(t, f, line("file:a.log", "", "late"))
	if f.Dropped() != 1 {
		t.Error("a line that came after the end is not counted as lost")
	}
}

// TestWhatIsNoLine: records of others are counted, and so many receivers there are not.
func TestWhatIsNoLine(t *testing.T) {
	t.Parallel()
	f, _ := start(t, t.TempDir(), io.Discard)
	bad := []*commonv1.AnyValue{
		nil, text("x"), list(), line("", "a", "b"), line("udp:x:1", "a", "b"), list(member(bootstrap.LogTo, text("file:a"))),
		list(member(bootstrap.LogTo, text("file:a")), member(bootstrap.LogText, text("no list"))),
	}
	send(t, f, bad...)
	if n := f.Dropped(); n != uint64(len(bad)) {
		t.Errorf("%d of %d are lost", n, len(bad))
	}
	for i := range 100 {
		send(t, f, line(fmt.Sprintf("file:%d", i), "a", "b"))
	}
	if n := f.Dropped() - uint64(len(bad)); n != 100-64 {
		t.Errorf("%d of 100 receivers are too many", n)
	}
}

// TestClientsBeginNoLine: what a client sent is part of one line.
func TestClientsBeginNoLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, end := start(t, dir, io.Discard)
	send(t, f, line("file:a", "x\ny ", "a\nb"), list(member(bootstrap.LogTo, text("file:a")),
		member(bootstrap.LogObject, list(member("k\"", list(member(bootstrap.PartText, text("a\nb")))), member("n", list(member(bootstrap.PartNumber, text("12")))), member("m", list(member(bootstrap.PartNumber, text("twelve"))))))))
	end()
	if b, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(b) != "x\ny a\\nb\n{\"k\\\"\":\"a\\nb\",\"n\":12,\"m\":\"twelve\"}\n" {
		t.Errorf("%q, %v", b, err)
	}
}
