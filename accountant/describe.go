package accountant

import "strings"

// Part is one kind of release within an event, in words.
type Part struct {
	Mechanism  string `json:"mechanism"`  // in words
	Parameters string `json:"parameters"` // in symbols
	Count      int64  `json:"count"`      // how often it runs
}

// Describe takes an event apart into the mechanisms that it runs, in words. The
// functions print numbers: number a parameter, claim a part of a claim, which has
// to be rounded up.
func Describe(e Event, number, claim func(x float64) string) []Part {
	return e.row().describe(printer{number, claim})
}

// describe returns the event itself, or the parts of those inside with its words added.
func (u unsupported) describe(p printer) []Part {
	mechanism, parameters := u.event.row().words(p)
	if len(u.event.row().children()) == 0 {
		return []Part{{mechanism, parameters, 1}}
	}
	parts := describeAll(u.event.row().children(), p)
	for i := range parts {
		parts[i].Mechanism += ", " + mechanism
		parts[i].Parameters = strings.TrimPrefix(parts[i].Parameters+", "+parameters, ", ")
	}
	return parts
}

func describeAll(events []Event, p printer) (parts []Part) {
	for _, e := range events {
		parts = append(parts, e.row().describe(p)...)
	}
	return parts
}
