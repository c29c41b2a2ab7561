package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/weftmesh/weft/files"
)

// The pauses between starts of an Envoy that dies, and how long it must live
// for the next pause to be short again.
const (
	firstPause = 100 * time.Millisecond
	longPause  = 10 * time.Second
	stable     = time.Minute
	// stopGrace is how long Envoy may take to end after it was asked to.
	stopGrace = 5 * time.Second
)

// errReplaced is the end of an Envoy that makes room for another.
var errReplaced = errors.New("envoy is replaced")

// state is what the readiness endpoint tells.
type state struct {
	admin     atomic.Pointer[string] // address of Envoy's administration, nil while it is down
	readiness atomic.Pointer[string]
	resolver  atomic.Pointer[string]
	unnamed   atomic.Bool               // there is a resolver, and nobody has told it names
	ready     atomic.Pointer[time.Time] // when Envoy was ready first, while unnamed
	draining  atomic.Bool
	since     atomic.Pointer[time.Time] // when draining began
}

// supervisor keeps one Envoy running.
type supervisor struct {
	agent  *Agent
	envoy  string
	source *source
	dir    string
	last   []byte // last bootstrap that was good
}

// run starts Envoy again and again until ctx ends or no start can work.
func (s *supervisor) run(ctx context.Context) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: firstPause, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: longPause}
	for {
		began := time.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errPermanent) {
			return err
		}
		if errors.Is(err, errReplaced) {
			pauses.Reset()
			continue
		}
		if time.Since(began) > stable {
			pauses.Reset()
		}
		pause := pauses.NextBackOff()
		s.agent.log.Warn("envoy is not running, trying again", "error", err, "pause", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// once is one life of Envoy.
func (s *supervisor) once(ctx context.Context) error {
	if err := s.writeBootstrap(ctx); err != nil {
		return err
	}
	if err := os.Remove(s.adminFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget the old administration address: %w", err)
	}
	cmd := exec.Command(s.envoy, s.arguments()...)
	cmd.SysProcAttr = apart()
	forward := newForwarder(s.agent.log)
	defer forward.end()
	cmd.Stdout, cmd.Stderr = forward, forward
	ended := make(chan error, 1)
	if err := s.start(cmd, ended); err != nil {
		return fmt.Errorf("start %s: %w; %w", s.envoy, err, errPermanent)
	}
	s.agent.log.Info("envoy started", "pid", cmd.Process.Pid)
	return s.monitor(ctx, cmd, ended)
}

// monitor looks after Envoy until it ends, or has to.
func (s *supervisor) monitor(ctx context.Context, cmd *exec.Cmd, ended chan error) error {
	alive, stopWatching := context.WithCancel(ctx)
	replace := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		f := &follower{supervisor: s, intervals: s.agent.intervals, running: s.last}
		if s.watchAdmin(alive) && f.follow(alive) {
			close(replace)
		}
	})
	defer func() { // in this order, else the watch could store the address of who is gone
		stopWatching()
		watching.Wait()
		s.agent.state.admin.Store(nil)
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("envoy ended: %w", ending(err))
	case <-replace:
		defer s.agent.state.draining.Store(false)
		s.agent.drain(ended, drainAll)
		s.stop(cmd, ended)
		return errReplaced
	case <-ctx.Done():
		s.agent.drain(ended, drainInbound)
		s.stop(cmd, ended)
		return nil
	}
}

// start keeps the starting thread until Envoy ends: with Pdeathsig the kernel
// counts the death of that thread as the parent's.
func (s *supervisor) start(cmd *exec.Cmd, ended chan<- error) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return <-started
}

// stop ends Envoy, by force if it does not follow.
func (s *supervisor) stop(cmd *exec.Cmd, ended <-chan error) {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return // it is gone already
	}
	select {
	case <-ended:
	case <-time.After(stopGrace):
		s.agent.log.Warn("envoy does not stop, killing it", "pid", cmd.Process.Pid)
		if err := cmd.Process.Kill(); err == nil {
			<-ended
		}
	}
	s.agent.log.Info("envoy stopped")
}

// writeBootstrap asks for a fresh bootstrap; while the control plane is away, or
// refuses, the last good one serves for a restart.
func (s *supervisor) writeBootstrap(ctx context.Context) error {
	text, err := s.source.fetch(ctx)
	switch {
	case err == nil:
		s.last = text
	case s.last == nil || ctx.Err() != nil:
		return err
	default:
		s.agent.log.Warn("starting from the last bootstrap", "error", err)
	}
	if err := files.Replace(s.bootstrapFile(), s.last, files.Private); err != nil {
		return fmt.Errorf("write the bootstrap: %w", err)
	}
	return nil
}

func (s *supervisor) arguments() []string {
	c := s.agent.config
	args := []string{
		"--config-path", s.bootstrapFile(),
		"--admin-address-path", s.adminFile(),
		"--use-dynamic-base-id",
		"--log-level", c.LogLevel,
		"--log-format", logFormat,
		"--drain-time-s", strconv.Itoa(max(1, int(max(c.DrainTime, c.ListenerDrain)/time.Second))),
		"--drain-strategy", "immediate",
	}
	if c.ComponentLogLevel != "" {
		args = append(args, "--component-log-level", c.ComponentLogLevel)
	}
	if c.Concurrency > 0 {
		args = append(args, "--concurrency", strconv.Itoa(c.Concurrency))
	}
	return args
}

// watchAdmin waits for the address that Envoy writes once it listens, and is
// false if ctx ends before.
func (s *supervisor) watchAdmin(ctx context.Context) bool {
	for {
		if text, err := os.ReadFile(s.adminFile()); err == nil && len(text) > 0 {
			address := strings.TrimSpace(string(text))
			s.agent.state.admin.Store(&address)
			s.agent.log.Info("envoy answers", "admin", address, "readiness", s.agent.Readiness())
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func ending(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
