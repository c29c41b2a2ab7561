package push

import "time"

// alarm is when a stream is looked at again though nothing happened to it.
type alarm struct {
	timer *time.Timer
	due   time.Time // when timer must fire; zero is never
}

// set has it ring at a time, if not earlier.
func (a *alarm) set(at time.Time) {
	if a.due.IsZero() || at.Before(a.due) {
		a.due = at
	}
}

// clear has it never ring.
func (a *alarm) clear() { a.due = time.Time{} }

// arm has ring called when it is due.
func (a *alarm) arm(ring func()) {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if !a.due.IsZero() {
		a.timer = time.AfterFunc(time.Until(a.due), ring)
	}
}

// stop has ring called no more.
func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
