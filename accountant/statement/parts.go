package statement

import "github.com/pate-go/pate/accountant"

// Part is one kind of release within an event.
type Part = accountant.Part

// Parts takes an event apart into the mechanisms that it runs.
func Parts(e accountant.Event) []Part { return accountant.Describe(e, digits, most) }
