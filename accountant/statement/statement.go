package statement

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// Schema names the JSON form of a Statement.
const Schema = "pate.statement/1"

// Statement is what can be said about everything charged to one ledger.
type Statement struct {
	Schema   string              `json:"schema"`
	Ledger   string              `json:"ledger"` // what the file is called
	Unit     string              `json:"unit"`
	Relation accountant.Relation `json:"relation"`
	Mode     ledger.Mode         `json:"mode"`
	Budget   Claim               `json:"budget"`
	Claims   []Claim             `json:"claims"` // at three deltas, that of the budget first
	Attacker Attacker            `json:"attacker"`

	Accountant string    `json:"accountant"`
	Conversion string    `json:"conversion"`
	Orders     []float64 `json:"orders,omitempty"` // of a filter; +Inf is left out
	Pure       bool      `json:"pure,omitempty"`   // +Inf is one of the orders of the filter
	Library    string    `json:"library"`

	Charged   []Part      `json:"charged"` // equal parts together
	Entries   int64       `json:"entries"`
	Committed int64       `json:"committed"`
	Complete  bool        `json:"complete"` // nothing more can be charged
	Torn      string      `json:"torn,omitempty"`
	Schedule  *schedule   `json:"events"`
	NotShown  []string    `json:"not_charged"`
	Noise     string      `json:"noise"` // secret, seeded or unknown
	Release   *bool       `json:"releasable"`
	Data      string      `json:"data,omitempty"`
	Head      ledger.Head `json:"head"`
	// Compared says whether the ledger was compared with a head that was kept, which it
	// holds; nil if nobody says.
	Compared *bool `json:"head_compared,omitempty"`
}

// schedule is an accountant.Schedule, which `pate account` reads.
type schedule = accountant.Schedule

// Claim is one (epsilon, delta) guarantee.
type Claim struct {
	Epsilon *Bound  `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Bound is an upper bound of an epsilon; infinite is null in JSON.
type Bound float64

// MarshalJSON implements json.Marshaler.
func (b Bound) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(b), 1) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(b))
}

// Attacker is what the claim leaves somebody who knows everything but whether
// one unit took part, at the delta of the budget.
type Attacker struct {
	Right float64 `json:"right"` // chance of a right guess at most, from even odds
	Rates []Rate  `json:"rates"`
}

// Rate is the largest share of true members that any test finds when it
// wrongly accuses FPR of the others.
type Rate struct {
	FPR float64 `json:"fpr"`
	TPR float64 `json:"tpr"`
}

// Right is the largest chance to guess right which of two neighbours the data
// were, when either is as likely: (e^epsilon + delta)/(1 + e^epsilon).
func Right(epsilon, delta float64) float64 {
	if math.IsInf(epsilon, 1) {
		return 1
	}
	r := math.Exp(-epsilon)
	return math.Min(1, (1+delta*r)/(1+r)*(1+1e-15))
}

// TPR is the largest true positive rate of a membership test at a false positive
// rate, min(e^epsilon fpr + delta, 1 - e^-epsilon (1 - delta - fpr)) (Kairouz, Oh,
// Viswanath 2015, Theorem 2.1).
func TPR(epsilon, delta, fpr float64) float64 {
	if math.IsInf(epsilon, 1) {
		return 1
	}
	tpr := delta
	if fpr > 0 { // or e^epsilon may overflow
		tpr += math.Exp(epsilon) * fpr
	}
	tpr = math.Min(tpr, 1-math.Exp(-epsilon)*(1-delta-fpr))
	return math.Max(0, math.Min(1, tpr*(1+1e-15)))
}

// New verifies a ledger and says what holds of it. The name is printed, and not
// opened. A ledger that does not verify gives a *ledger.CorruptError.
func New(name string, r io.Reader) (*Statement, error) { return NewKept(name, r, ledger.Kept{}) }

// NewKept is New for a ledger of which more is known than its file tells.
func NewKept(name string, r io.Reader, kept ledger.Kept) (*Statement, error) {
	sum, err := ledger.VerifyKept(r, kept, nil)
	if err != nil {
		return nil, err
	}
	cfg := sum.Config
	s := &Statement{
		Schema: Schema, Ledger: name, Unit: cfg.Unit, Relation: cfg.Relation, Mode: cfg.Mode,
		Accountant: "rdp", Conversion: accountant.Improved.String(), Library: sum.Library,
		Entries: sum.Entries, Committed: sum.Commits, Complete: sum.Sealed || sum.Exhausted, Torn: sum.Torn,
		Schedule: &sum.Schedule, NotShown: notCharged(cfg), Data: cfg.Data, Head: sum.Head,
	}
	budget := Bound(cfg.Epsilon)
	s.Budget = Claim{&budget, cfg.Delta}
	for _, delta := range []float64{cfg.Delta, short(cfg.Delta / 10), short(cfg.Delta / 1000)} {
		epsilon, err := sum.Claim(delta)
		if err != nil {
			return nil, fmt.Errorf("statement: %w", err)
		}
		bound := Bound(epsilon)
		s.Claims = append(s.Claims, Claim{&bound, delta})
	}
	epsilon := float64(*s.Claims[0].Epsilon)
	s.Attacker.Right = Right(epsilon, cfg.Delta)
	for _, fpr := range []float64{0.001, 0.01, 0.1} {
		s.Attacker.Rates = append(s.Attacker.Rates, Rate{fpr, TPR(epsilon, cfg.Delta, fpr)})
	}
	if cfg.Mode == ledger.Filter {
		for _, a := range sum.Orders {
			if s.Pure = math.IsInf(a, 1); !s.Pure {
				s.Orders = append(s.Orders, a)
			}
		}
	}
	s.Charged = charged(sum.Schedule.Events)
	switch cfg.Noise {
	case ledger.SecretNoise, ledger.SeededNoise:
		releasable := cfg.Noise == ledger.SecretNoise
		s.Noise, s.Release = string(cfg.Noise), &releasable
	default:
		s.Noise = "unknown"
	}
	return s, nil
}

// short is a number near x that has few digits, where x only lacks them by rounding.
func short(x float64) float64 {
	near, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
	if err != nil || !(near > 0) {
		return x
	}
	return near
}

// charged adds up the equal parts of events, in order of first appearance.
func charged(events []accountant.Event) []Part {
	parts := []Part{}
	at := map[[2]string]int{}
	for _, e := range events {
		for _, p := range Parts(e) {
			key := [2]string{p.Mechanism, p.Parameters}
			i, seen := at[key]
			if !seen {
				at[key] = len(parts)
				parts = append(parts, p)
				continue
			}
			if parts[i].Count > math.MaxInt64-p.Count {
				parts[i].Count = math.MaxInt64
				continue
			}
			parts[i].Count += p.Count
		}
	}
	return parts
}

// WriteJSON writes the statement as one JSON object.
func (s *Statement) WriteJSON(w io.Writer) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
