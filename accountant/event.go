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
//
// An event alone does not know its name in JSON: use MarshalEvent,
// UnmarshalEvent or a Schedule, not encoding/json directly.
type Event interface {
	// Validate reports the first parameter that is out of range.
	Validate() error
	event()
}

// Gaussian is one release of a function plus Gaussian noise.
type Gaussian struct {
	NoiseMultiplier float64 `json:"noise_multiplier"` // noise standard deviation / L2 sensitivity, > 0
}

// PoissonSampled runs Event on a sample in which every record takes part
// independently with the given probability. Only Poisson sampling is meant:
// shuffled or fixed-size batches are other events.
type PoissonSampled struct {
	Probability float64 `json:"probability"` // in [0, 1]
	Event       Event   `json:"event"`
}

// Composed is the adaptive composition of events, in order.
type Composed struct {
	Events []Event `json:"events"`
}

// Repeated is Event run Count times, adaptively.
type Repeated struct {
	Event Event `json:"event"`
	Count int64 `json:"count"` // >= 0
}

// WithFailure is Event, except with probability at most Delta, when anything
// may be revealed. It holds a mechanism whose laws on any two neighbouring data
// sets, given what was answered before, are
//
//	P = (1-Delta) P' + Delta B   and   Q = (1-Delta) Q' + Delta C
//
// with P' and Q' within the curve of Event in both orders, and any B and C. Then
// P(S) <= Delta + (1-Delta) (e^epsilon Q'(S) + delta') <= e^epsilon Q(S) + delta' + Delta
// wherever Event is (epsilon, delta')-private, and failures of several mechanisms add
// up, because the coins that choose between the parts are independent of P' and Q'.
//
// Every mechanism that is (epsilon, Delta)-private in both directions is one, with
// Event PureDP{epsilon}: its two laws are one randomised function of the pair
// that reveals the data with probability Delta and else is the randomised response of
// epsilon (Kairouz, Oh, Viswanath 2015). No set of outputs needs to be the failure:
// a mechanism may put the mass Delta on an output that it also gives otherwise.
type WithFailure struct {
	Event Event   `json:"event"`
	Delta float64 `json:"delta"` // in [0, 1)
}

// NonPrivate reveals its input. Accountants answer an infinite epsilon; a sample
// of it is refused.
type NonPrivate struct{}

func (Gaussian) event()             {}
func (Laplace) event()              {}
func (DiscreteGaussian) event()     {}
func (DiscreteLaplace) event()      {}
func (ExponentialMechanism) event() {}
func (PureDP) event()               {}
func (RandomizedResponse) event()   {}
func (ZCDP) event()                 {}
func (GNMax) event()                {}
func (Threshold) event()            {}
func (LNMax) event()                {}
func (MStab) event()                {}
func (AboveThreshold) event()       {}
func (StableSVT) event()            {}
func (PoissonSampled) event()       {}
func (Composed) event()             {}
func (Repeated) event()             {}
func (WithFailure) event()          {}
func (NonPrivate) event()           {}
