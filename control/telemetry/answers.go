package telemetry

import (
	"time"
)

// Answered counts an answer of the API.
func (o *Observer) Answered(route string, status int, took time.Duration) {
	o.Requests.WithLabelValues(route, code(status)).Inc()
	if route != "GET /_events" { // which has no end
		o.Answers.WithLabelValues(route).Observe(took.Seconds())
	}
}

// code is a status as a label: those that the API answers are few.
func code(status int) string {
	const digits = "0123456789"
	if status < 100 || status > 599 {
		return "other"
	}
	return string([]byte{digits[status/100], digits[status/10%10], digits[status%10]})
}

// Injected counts what became of new pods. There are as many codes as rows of
// inject.Decide and kinds of mistakes.
func (o *Observer) Injected() func(verdict, code string) {
	pods := o.Injections()
	return func(verdict, code string) { pods.WithLabelValues(verdict, code).Inc() }
}

// Reviewed counts the answers to API servers.
func (o *Observer) Reviewed() func(hook, verdict string) {
	reviews := o.Reviews()
	return func(hook, verdict string) { reviews.WithLabelValues(hook, verdict).Inc() }
}

// Statuses counts the writes of statuses.
func (o *Observer) Statuses() func(outcome string) {
	writes := o.StatusWrites()
	return func(outcome string) { writes.WithLabelValues(outcome).Inc() }
}
