package control_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// speaks is how it speaks TLS at a time as one of both ends; nil where it has no valid leaf, or
// nobody to trust.
func (s *timed) speaks(trust string, at time.Time) *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaf == nil || s.roots[trust] == nil || !at.Before(s.ends) {
		return nil
	}
	roots := s.roots[trust]
	return &tls.Config{Certificates: []tls.Certificate{*s.leaf}, ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, SessionTicketsDisabled: true,
		MaxVersion: tls.VersionTLS12,
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
			var leaf *x509.Certificate
			for i, der := range raw {
				c, err := x509.ParseCertificate(der)
				if err != nil {
					return err
				}
				if i == 0 {
					leaf = c
					continue
				}
				o.Intermediates.AddCert(c)
			}
			_, err := leaf.Verify(o)
			return err
		}}
}

// errNot is that one of both ends does not speak TLS.
var errNot = errors.New("it does not speak TLS")

// meets makes a connection to another. It takes no time: a clock that is put forward meanwhile
// ends no leaf between the choice of it and the look at it.
func (s *timed) meets(other *timed) error {
	at := s.now()
	client, server := s.speaks(trustOfClients, at), other.speaks(trustOfServers, at)
	if client == nil || server == nil {
		return errNot
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	answered := make(chan error, 1)
	go func() { answered <- tls.Server(b, server).Handshake() }()
	err := tls.Client(a, client).Handshake()
	if err != nil {
		a.Close()
	}
	if err := errors.Join(err, <-answered); err != nil {
		return fmt.Errorf("%s calls %s: %w", s.name, other.name, err)
	}
	return nil
}

// meetAll has each of them meet each other; it is errNot where some do not speak TLS, and all else
// is well.
func meetAll(sidecars ...*timed) (err error) {
	for _, a := range sidecars {
		for _, b := range sidecars {
			if a == b {
				continue
			}
			switch e := a.meets(b); {
			case errors.Is(e, errNot):
				err = e
			case e != nil:
				return e
			}
		}
	}
	return err
}
