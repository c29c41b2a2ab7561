package envoytest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Bounds of HTTP/2 before anything was agreed on: bytes of a frame, and of a
// body that may be sent without waiting for leave.
const (
	frameBytes  = 16_384
	windowBytes = 65_535
)

func sendHTTP2(conn net.Conn, q Wire) (*Reply, error) {
	if q.Body > windowBytes {
		return nil, fmt.Errorf("a body of %d bytes in HTTP/2: more than the first window", q.Body)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return nil, err
	}
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.MaxHeaderListSize = 1 << 20
	if err := f.WriteSettings(); err != nil {
		return nil, err
	}
	if err := writeHeaders(f, q); err != nil {
		return nil, err
	}
	for sent := 0; sent < q.Body; sent += frameBytes {
		n := min(frameBytes, q.Body-sent)
		if err := f.WriteData(1, sent+n == q.Body, []byte(filler(n))); err != nil {
			return nil, err
		}
	}
	return readHTTP2(f)
}

func writeHeaders(f *http2.Framer, q Wire) error {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	pseudo := []Line{{":method", q.Method}, {":authority", q.Authority}}
	if q.Method != http.MethodConnect {
		pseudo = append(pseudo, Line{":scheme", "http"}, Line{":path", q.Target})
	}
	for _, l := range append(pseudo, q.Lines...) {
		if err := e.WriteField(hpack.HeaderField{Name: strings.ToLower(l.Name), Value: l.Value}); err != nil {
			return err
		}
	}
	first := block.Next(frameBytes)
	err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: first, EndStream: q.Body == 0, EndHeaders: block.Len() == 0})
	for err == nil && block.Len() > 0 {
		part := block.Next(frameBytes)
		err = f.WriteContinuation(1, block.Len() == 0, part)
	}
	return err
}

// readHTTP2 reads the answer on stream 1.
func readHTTP2(f *http2.Framer) (*Reply, error) {
	out := &Reply{}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			out.Ended, out.Cut = err.Error(), out.Status != 0
			return out, unlessEnded(err)
		}
		ended := false
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			err = f.WritePing(true, frame.Data)
		case *http2.MetaHeadersFrame:
			out.take(frame)
			ended = frame.StreamEnded()
		case *http2.DataFrame:
			out.Body += string(frame.Data())
			ended = frame.StreamEnded()
		case *http2.RSTStreamFrame:
			out.Ended, out.Cut, ended = frame.ErrCode.String(), out.Status != 0, true
		case *http2.GoAwayFrame:
			out.Ended, ended = frame.ErrCode.String(), frame.ErrCode != http2.ErrCodeNo
		}
		if err != nil || ended {
			return out, err
		}
	}
}

// take notes headers, or trailers once there are headers.
func (r *Reply) take(frame *http2.MetaHeadersFrame) {
	h := http.Header{}
	for _, field := range frame.RegularFields() {
		h.Add(field.Name, field.Value)
	}
	if r.Status != 0 {
		r.Trailer = h
		return
	}
	status, err := strconv.Atoi(frame.PseudoValue("status"))
	if err == nil && status >= 200 {
		r.Status, r.Headers = status, h
	}
}
