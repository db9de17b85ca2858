package accountant

import (
	"math"
	"strings"
)

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
	return describe(e, printer{number, claim})
}

func describe(e Event, p printer) []Part {
	var parts []Part
	for _, inner := range e.row().children() {
		parts = append(parts, describe(inner, p)...)
	}
	mechanism, parameters := e.row().words(p)
	switch e := e.(type) {
	case Composed:
		return parts
	case Repeated:
		for i := range parts {
			if n, err := mul(parts[i].Count, e.Count); err == nil {
				parts[i].Count = n
			} else {
				parts[i].Count = math.MaxInt64 // far beyond what any budget holds
			}
		}
		return parts
	}
	if len(e.row().children()) == 0 {
		return []Part{{mechanism, parameters, 1}}
	}
	for i := range parts {
		parts[i].Mechanism += ", " + mechanism
		parts[i].Parameters = strings.TrimPrefix(parts[i].Parameters+", "+parameters, ", ")
	}
	return parts
}
