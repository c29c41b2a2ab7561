package sim

// RetryBudget is what a verdict with repeats does not know: what else is under way.
const RetryBudget = "answers: a request is not repeated while 3 others to the same cluster are being repeated"

// unknownInTime says what else decides about the attempts of a request.
func unknownInTime(list []Attempt) []string {
	if len(list) < 2 {
		return nil
	}
	return []string{RetryBudget}
}
