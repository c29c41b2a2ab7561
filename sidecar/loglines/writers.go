package loglines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	dialWithin  = 5 * time.Second
	writeWithin = 10 * time.Second
)

// errNever is that of a receiver which will never take lines.
var errNever = errors.New("it is no regular file")

// stream is a receiver by TCP.
type stream struct {
	address string
	conn    net.Conn
	gone    chan struct{} // closed when the other side has closed conn
}

func (s *stream) write(ctx context.Context, lines []byte) (int, error) {
	if s.conn != nil {
		select {
		case <-s.gone: // what is written now would be lost without an error
			s.close()
		default:
		}
	}
	if s.conn == nil {
		conn, err := (&net.Dialer{Timeout: dialWithin}).DialContext(ctx, "tcp", s.address)
		if err != nil {
			return 0, err
		}
		s.conn, s.gone = conn, make(chan struct{})
		go watch(conn, s.gone)
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetWriteDeadline(time.Now()) }) // write says why
	defer stop()
	return s.conn.Write(lines)
}

// watch reads what nobody sends, until the other side closes.
func watch(conn net.Conn, gone chan<- struct{}) {
	defer close(gone)
	_, _ = io.Copy(io.Discard, conn) // an error is an end too
}

func (s *stream) close() {
	if s.conn != nil {
		_ = s.conn.Close() // there is nothing left to write
		s.conn = nil
	}
}

// file is a regular file in a directory, which is opened again where another one has taken its name.
type file struct {
	dir, name string
	open      *os.File
}

func (f *file) write(_ context.Context, lines []byte) (int, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	if f.open != nil && !f.there(root) {
		f.close()
	}
	if f.open == nil {
		// Without waiting: a named pipe without a reader would hold it up for ever.
		if f.open, err = root.OpenFile(f.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o640); err != nil {
			f.open = nil
			return 0, err
		}
		if info, err := f.open.Stat(); err != nil || !info.Mode().IsRegular() {
			return 0, fmt.Errorf("%s: %w", f.name, errors.Join(errNever, err))
		}
	}
	return f.open.Write(lines)
}

// there reports whether the name still leads to what is open.
func (f *file) there(root *os.Root) bool {
	now, err := root.Stat(f.name)
	if err != nil {
		return false
	}
	then, err := f.open.Stat()
	return err == nil && os.SameFile(now, then)
}

func (f *file) close() {
	if f.open != nil {
		_ = f.open.Close() // every line was written or said to be lost
		f.open = nil
	}
}
