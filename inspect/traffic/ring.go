package traffic

import "time"

// Step is the time by which counts are kept for the last minute.
const Step = 10 * time.Second

// Kept are the steps before this one, and the minutes with this one.
const (
	keptSteps   = 6
	keptMinutes = 15
	perMinute   = int64(time.Minute / Step)
)

// Windows are the times of which counts can be asked for.
const (
	Minute  = time.Minute
	Quarter = keptMinutes * time.Minute
)

// stepOf is the number of the step in which now is.
func stepOf(now time.Time) int64 { return now.UnixNano() / int64(Step) }

// ring keeps values of T by steps and by minutes. The zero ring is empty.
type ring[T any] struct {
	at      int64 // the latest step of which something was added
	steps   [keptSteps + 1]T
	minutes [keptMinutes]T
}

// into adds at a step by what add does to a value. What is older than all that is kept is dropped.
func (r *ring[T]) into(step int64, add func(*T)) {
	r.reach(step)
	if step > r.at-int64(len(r.steps)) {
		add(r.step(step))
	}
	if minute := step / perMinute; minute > r.at/perMinute-keptMinutes {
		add(&r.minutes[minute%keptMinutes])
	}
}

// step is the value of one that is kept.
func (r *ring[T]) step(at int64) *T { return &r.steps[at%int64(len(r.steps))] }

// reach goes on to a later step.
func (r *ring[T]) reach(step int64) {
	if step > r.at {
		r.forward(step)
	}
}

// forward empties the steps and minutes between the latest and a later step, that one with them.
func (r *ring[T]) forward(step int64) {
	var empty T
	for s := max(r.at+1, step-int64(len(r.steps))+1); s <= step; s++ {
		r.steps[s%int64(len(r.steps))] = empty
	}
	for m := max(r.at/perMinute+1, step/perMinute-keptMinutes+1); m <= step/perMinute; m++ {
		r.minutes[m%keptMinutes] = empty
	}
	r.at = step
}

// each calls do with the values of a window that ends before the step of now, or with it.
func (r *ring[T]) each(w window, do func(*T)) {
	if w.length > Minute {
		r.eachMinute(w.now, func(_ int64, of *T) { do(of) })
		return
	}
	last := w.now - 1
	if w.current {
		last = w.now
	}
	for s := max(w.now, r.at) - keptSteps; s <= min(last, r.at); s++ {
		do(r.step(s))
	}
}

// eachMinute calls do with the values of the minutes that are kept, up to that of the step of now.
func (r *ring[T]) eachMinute(now int64, do func(minute int64, of *T)) {
	for m := max(now, r.at)/perMinute - keptMinutes + 1; m <= min(now, r.at)/perMinute; m++ {
		do(m, &r.minutes[m%keptMinutes])
	}
}

// minute is the value of a minute; nil where it is not kept, or later than all that was added.
func (r *ring[T]) minute(m int64) *T {
	if last := r.at / perMinute; m > last || m <= last-keptMinutes {
		return nil
	}
	return &r.minutes[m%keptMinutes]
}

// window is the time of which counts are asked for.
type window struct {
	now     int64
	length  time.Duration
	current bool // with the step of now, of which not all sidecars have told yet
}

// merge adds what from has to into, and leaves from unusable.
func merge(into, from *ring[Counts]) {
	into.reach(from.at)
	from.reach(into.at)
	for i := range into.steps {
		into.steps[i].Add(&from.steps[i])
	}
	for i := range into.minutes {
		into.minutes[i].Add(&from.minutes[i])
	}
}

// old reports whether nothing was added for longer than a window can be.
func (r *ring[T]) old(now int64) bool { return r.at < now-keptMinutes*perMinute }
