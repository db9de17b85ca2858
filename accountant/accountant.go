package accountant

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// An Accountant collects the events of one run and bounds their total privacy cost. Epsilon and Delta do not
// change the account. Concurrent use is not safe.
type Accountant interface {
	// Compose adds count runs of e, adaptively composed with all earlier events. On an error, Compose adds
	// nothing. An unsupported event gives an *UnsupportedEventError.
	Compose(e Event, count int64) error
	// Epsilon bounds the epsilon of all composed events, at delta in [0, 1). If no finite bound is known,
	// Upper is +Inf and the error is nil.
	Epsilon(ctx context.Context, delta float64) (Bound, error)
	// Delta bounds the delta of all composed events, at a finite epsilon >= 0.
	Delta(ctx context.Context, epsilon float64) (Bound, error)
}

// Bound is an interval that contains the true epsilon or delta. Upper is the guarantee, rounded up.
type Bound struct {
	Lower, Upper float64

	Order        float64    // order used by a Rényi accountant; +Inf for the pure bound, 0 if no order was used
	Conversion   Conversion // rule that converted the Rényi curve to Upper
	FailureDelta float64    // part of delta used by failure probabilities
	AtGridEdge   bool       // Order is the smallest or largest order tried; a wider grid may give a smaller Upper

	// Floor is a lower bound on the cost of the distributions that dominate the mechanisms. So Upper - Floor
	// bounds the numerical error. The mechanisms may cost less than Floor. Only [PLD] sets Floor.
	Floor      float64
	GapReached bool // Upper - Floor is at most the configured gap
	Points     int  // length of the longest window convolved; 0 for a closed form
}

// Relation defines which data sets are neighbours.
type Relation int

const (
	// AddRemove neighbours differ by one added or removed record.
	AddRemove Relation = iota + 1
	// ReplaceOne neighbours differ in the content of one record.
	ReplaceOne
)

var relationNames = names[Relation]{AddRemove: "add_remove", ReplaceOne: "replace_one"}

func (r Relation) String() string {
	return cmp.Or(relationNames[r], fmt.Sprintf("Relation(%d)", int(r)))
}

func (r Relation) MarshalText() ([]byte, error) { return relationNames.marshal(r, "relation") }

func (r *Relation) UnmarshalText(text []byte) error {
	if !relationNames.unmarshal(text, r) {
		return fmt.Errorf("accountant: relation %q is neither add_remove nor replace_one", text)
	}
	return nil
}

// Conversion selects the formula that converts a Rényi divergence at one order to (epsilon, delta).
type Conversion int

const (
	// Improved is the default: Proposition 12 of Canonne, Kamath, Steinke 2020 (also Asoodeh et al. 2020).
	Improved Conversion = iota
	// Classic is the formula of Mironov 2017, Proposition 3. It reproduces results of older papers.
	Classic
)

type names[K comparable] map[K]string

func (n names[K]) marshal(k K, kind string) ([]byte, error) {
	if _, ok := n[k]; !ok {
		return nil, fmt.Errorf("accountant: %v is not a %s", k, kind)
	}
	return []byte(n[k]), nil
}

func (n names[K]) unmarshal(text []byte, into *K) bool {
	for k, name := range n {
		if name == string(text) {
			*into = k
			return true
		}
	}
	return false
}

var conversionNames = names[Conversion]{Improved: "improved", Classic: "classic"}

func (c Conversion) String() string {
	return cmp.Or(conversionNames[c], fmt.Sprintf("Conversion(%d)", int(c)))
}

func (c Conversion) MarshalText() ([]byte, error) { return conversionNames.marshal(c, "conversion") }

func (c *Conversion) UnmarshalText(text []byte) error {
	if !conversionNames.unmarshal(text, c) {
		return fmt.Errorf("accountant: conversion %q is neither improved nor classic", text)
	}
	return nil
}

// Epsilon returns the epsilon at delta in [0, 1) for a Rényi divergence >= 0 at an order above 1.
func (c Conversion) Epsilon(order, divergence, delta float64) (float64, error) {
	switch {
	case c != Improved && c != Classic:
		return 0, fmt.Errorf("accountant: %v is not a conversion", c)
	case !(order > 1):
		return 0, fmt.Errorf("accountant: order %v is not above 1", order)
	case !(divergence >= 0):
		return 0, fmt.Errorf("accountant: a divergence must be at least 0, got %v", divergence)
	case !(delta >= 0 && delta < 1):
		return 0, fmt.Errorf("accountant: delta must be in [0, 1), got %v", delta)
	}
	return c.epsilon(order, divergence, mathx.Log(delta)), nil
}

func (c Conversion) epsilon(a, r, logDelta float64) float64 {
	// The proofs of both formulas bound each outcome separately. So the formulas are also valid for the
	// divergence on a part of the outcomes, whose masses need not sum to one.
	switch {
	case math.IsInf(r, 1):
		return r
	case math.IsInf(a, 1):
		return r
	case math.IsInf(logDelta, -1):
		return math.Inf(1)
	}
	price := -logDelta / (a - 1)
	if c == Classic {
		return (r + price) * (1 + 4e-16)
	}
	gain := math.Log(a)/(a-1) - math.Log1p(-1/a)
	return math.Max(0, r+price-gain+8e-16*(r+price+gain))
}

func (c Conversion) logDelta(a, r, eps float64) float64 {
	switch {
	case math.IsInf(r, 1):
		return 0
	case math.IsInf(a, 1):
		if r <= eps {
			return math.Inf(-1)
		}
		return 0
	}
	ld := (a - 1) * (r - eps)
	if c == Improved {
		ld += (a-1)*math.Log1p(-1/a) - math.Log(a)
	}
	return math.Min(0, ld)
}
