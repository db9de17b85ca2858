package accountant

// An Event says completely what was run on the private data: which mechanism,
// with which parameters, how often. It is data, never behaviour: an accountant
// interprets it, and an auditor can re-interpret it later. The set is closed;
// an accountant that cannot hold an event answers ErrUnsupportedEvent and never
// guesses. The meaning of a field never changes.
//
// Noise multipliers are noise standard deviation (Gaussian) or scale (Laplace)
// divided by the sensitivity under the relation of the account. PATE events
// are per vote count, under "one vote moves" (one record changes at most one
// teacher, hence at most one vote of a query), which holds for both record
// relations.
type Event interface {
	// Validate reports the first parameter that is out of range.
	Validate() error
	event()
}

// Gaussian is one release of a function plus Gaussian noise.
type Gaussian struct {
	NoiseMultiplier float64 // noise standard deviation / L2 sensitivity, > 0
}

// PoissonSampled runs Event on a sample in which every record takes part
// independently with the given probability. Only Poisson sampling is meant:
// shuffled or fixed-size batches are other events.
type PoissonSampled struct {
	Probability float64 // in [0, 1]
	Event       Event
}

// GNMax is one noisy argmax of vote counts with Gaussian noise of standard
// deviation Sigma on every count (Papernot et al. 2018, Proposition 8).
type GNMax struct {
	Sigma float64 // per vote count, > 0
}

// Threshold is one noisy comparison of the largest vote count with a public
// threshold, Gaussian noise of standard deviation Sigma (Papernot et al. 2018,
// Algorithm 1, step 1). The largest count has sensitivity 1.
type Threshold struct {
	Sigma float64 // per vote count, > 0
}

// Composed is the adaptive composition of events, in order.
type Composed struct {
	Events []Event
}

// Repeated is Event run Count times, adaptively.
type Repeated struct {
	Event Event
	Count int64 // >= 0
}

// WithFailure is Event, except with probability at most Delta, when anything
// may be revealed.
type WithFailure struct {
	Event Event
	Delta float64 // in [0, 1)
}

// NonPrivate reveals its input. Every accountant answers an infinite epsilon.
type NonPrivate struct{}

func (Gaussian) event()       {}
func (PoissonSampled) event() {}
func (GNMax) event()          {}
func (Threshold) event()      {}
func (Composed) event()       {}
func (Repeated) event()       {}
func (WithFailure) event()    {}
func (NonPrivate) event()     {}
// Validate implements Event.
func (Gaussian) Validate() error { return nil }

// Validate implements Event.
func (PoissonSampled) Validate() error { return nil }

// Validate implements Event.
func (GNMax) Validate() error { return nil }

// Validate implements Event.
func (Threshold) Validate() error { return nil }

// Validate implements Event.
func (Composed) Validate() error { return nil }

// Validate implements Event.
func (Repeated) Validate() error { return nil }

// Validate implements Event.
func (WithFailure) Validate() error { return nil }

// Validate implements Event.
func (NonPrivate) Validate() error { return nil }

