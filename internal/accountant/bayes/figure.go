// Package bayes bounds the privacy loss of a typical record in training, by the Bayesian accountant of
// Triastcyn and Faltings (ICML 2020). The bound is not differential privacy, so the result has its own type,
// [Figure].
//
// A step of DP-SGD releases a sum with Gaussian noise of standard deviation s. Let q be the sampling
// probability. If a record is removed, the sum changes by a vector of norm d, the distance of the record. At
// the integer order lambda, the log moment of the privacy loss is
//
//	K(d) = log E_{k ~ Bin(lambda+1, q)} exp((k^2 - k) d^2/(2 s^2)).
//
// Differential privacy uses the largest d, the clip norm. In the Bayesian accountant, d is random, for a new
// record from the data distribution. By Hölder's inequality, the log moment of T steps is at most the sum of
// the steps' costs
//
//	c = log(E e^(T K(d)))/T
//
// An upper limit from a sample replaces the unknown mean E. This limit is too low with probability at most
// Failure. By Markov's inequality,
//
//	eps_mu = min over lambda of (sum of c - log(delta_mu - orders x T x Failure))/lambda.
//
// # Guarantee
//
// Assume that the number of steps, the orders and Failure are fixed in advance. Assume that Config.Estimator
// is Bernstein, and that no distance exceeds Config.Bound. Assume that, given all earlier releases, the
// distances of each step are independent draws of d for new records. Draw a record from the data
// distribution. Then the privacy loss of this record in all steps is at most eps_mu with probability at least
// 1 - delta_mu. The probability is over record, distances and noise.
//
// Unlike differential privacy, this guarantee is about an average over records, not about every record. A
// Figure is the smaller of eps_mu and the epsilon of the moments accountant at delta_mu.
//
// # Errors in the sources
//
//   - The printed estimator (equation 14) omits the factor T of the printed cost (equation 10).
//   - The printed cost of the reverse direction is of first order in q. So the maximum over the directions
//     has no amplification by sampling. In truth the forward direction costs at least as much (Mironov,
//     Talwar, Zhang 2019, Theorem 5). This package uses only the forward direction.
//   - delta_mu must include failures of the estimate at every step and order. The authors' code includes
//     failures at one order only. To compute delta_mu from epsilon, it includes none.
//   - The proof of composition treats the moments of a step as constants. But the moments depend on earlier
//     releases. The Guarantee above excludes this dependence by assumption.
//   - The authors' notebook clips the gradient of the batch, not of each example, so its noise protects no
//     example.
//
// # Caveats
//
//   - Attacks target outliers, which the guarantee does not protect.
//   - Records must be exchangeable. If the model overfits, gradients of training rows and new rows differ.
//     Compare the distances of training and test rows.
//   - Distances and Figures are private. If settings depend on an earlier Figure, they reveal data. No later
//     Figure includes this privacy loss.
//   - With Bernstein and m distances, eps_mu is below the worst case only if T K(Bound) is small compared
//     with log(m). Otherwise a few unseen records at distance Bound could dominate the mean.
//
// # Use
//
//	a, err := bayes.New(bayes.Config{Steps: 1000, Delta: 1e-10, Bound: 1})
//	err = a.Add(bayes.Step{SamplingProbability: 0.017, Noise: 1.1}, distances) // for every step
//	fmt.Print(bayes.Report(a.Figure()))
package bayes

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/opaque"
)

// Schema is the version of the JSON form of a Figure.
const Schema = "pate.bayes/1"

// Figure is the result of an [Account]. A Figure is not an epsilon of differential privacy, and no ledger
// accepts a Figure. This module can print and plot a Figure, and write a Figure to JSON. A Figure is
// private, because it is computed from private gradients without a charge.
type Figure struct {
	mu, estimate, worst opaque.Number

	// Delta is delta_mu of the guarantee in the package comment. FailureDelta is the part of Delta for
	// estimates that fail.
	Delta, FailureDelta float64
	Order               int // order lambda of the estimate
	Estimator           Estimator
	// Steps is the number of steps. Unseen is the number of steps without distances.
	Steps, Unseen int
	Distances     int64 // total number of distances
	Fewest        int   // smallest number of distances in a step that has distances
}

// Figure returns the bound for all steps:
//
//	min over orders lambda of (sum of costs at lambda - log(Delta - FailureDelta))/lambda
//
// If Config.Bound is set, the result is at most the epsilon of the moments accountant at Delta.
func (a *Account) Figure() Figure {
	f := Figure{
		Delta: a.cfg.Delta, FailureDelta: a.cfg.failures(), Estimator: a.cfg.Estimator,
		Steps: a.state.steps, Unseen: a.state.unseen, Distances: a.state.distances, Fewest: a.state.fewest,
	}
	estimate, order := best(a.cfg.Orders, a.costs, math.Log(mathx.Down(a.cfg.Delta-f.FailureDelta)))
	f.Order = order
	least, worst := estimate, math.Inf(1)
	if a.worst != nil {
		worst, _ = best(a.cfg.Orders, a.worst, math.Log(a.cfg.Delta))
		least = math.Min(least, worst)
	}
	f.mu, f.estimate, f.worst = opaque.Of(least), opaque.Of(estimate), opaque.Of(worst)
	return f
}

// Opaque returns the figure as a number that only code of this module can open.
func (f Figure) Opaque() opaque.Number { return f.mu }

// OpaqueEstimate returns eps_mu of the package comment, even if the epsilon of the moments accountant is
// smaller.
func (f Figure) OpaqueEstimate() opaque.Number { return f.estimate }

// OpaqueWorst returns the epsilon of the moments accountant for distance Config.Bound, or +Inf without Bound.
func (f Figure) OpaqueWorst() opaque.Number { return f.worst }

func text(n opaque.Number) string {
	x := opaque.Open(n)
	if !mathx.IsFinite(x) || x <= 0 {
		return fmt.Sprint(x)
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-3)
	return fmt.Sprintf("%.4g", math.Ceil(x/unit)*unit)
}

func (f Figure) String() string {
	return fmt.Sprintf("ε_µ ≤ %s at δ_µ = %s (Bayesian: of a typical record; no differential privacy; private)",
		text(f.mu), number.Exact(f.Delta))
}

// Cell returns the figure for a table column with the title [Column].
func (f Figure) Cell() string { return text(f.mu) }

// Column is the title of the table column for [Figure.Cell].
const Column = "ε_µ (Bayesian, not DP)"

// AttackSuccess returns the success rate of the best membership test for a typical record at even prior odds.
// The rate is (e^x + d)/(1 + e^x), where x is the bound in f, and d is f.Delta. For d = 0, the rate is 1/(1 +
// e^-x), the formula of the paper.
func AttackSuccess(f Figure) float64 { return success(opaque.Open(f.mu), f.Delta) }

func success(epsilon, delta float64) float64 {
	return math.Min(1, (1+delta*math.Exp(-epsilon))/(1+math.Exp(-epsilon)))
}

// ShareOutside returns Delta/delta, for delta in [Delta, 1). For a given record, let P be the probability
// that the privacy loss exceeds f. By Markov's inequality, at most a fraction Delta/delta of the data
// distribution has P > delta.
func (f Figure) ShareOutside(delta float64) (float64, error) {
	if !(delta >= f.Delta && delta < 1) {
		return 0, fmt.Errorf("bayes: delta %g must be from delta_mu %g to below 1", delta, f.Delta)
	}
	return f.Delta / delta, nil
}

// Caveats returns sentences to print with every figure.
func Caveats() []string {
	return []string{
		"This is not differential privacy. It speaks of a typical record of one distribution and says nothing of outliers, whom attacks aim at.",
		"It needs records that are exchangeable, and distances of the same law for rows that were used and rows that were not.",
		"It is computed from private gradients and nobody was charged for it, so it is private itself: do not release it.",
		"It does not compose with differential privacy, and not with settings that were chosen by looking at it.",
	}
}

// Report returns a plain-text section about the figures of one run.
func Report(figures ...Figure) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Bayesian accounting (private; not differential privacy)")
	for _, f := range figures {
		f.report(line)
	}
	for _, c := range Caveats() {
		at := 0
		for word := range strings.FieldsSeq(c) {
			n := utf8.RuneCountInString(word)
			if at > 0 && at+1+n > 80 {
				b.WriteByte('\n')
				at = 0
			}
			if at == 0 {
				b.WriteByte(' ')
			}
			b.WriteString(" " + word)
			at = max(at+1, 2) + n
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (f Figure) report(line func(format string, args ...any)) {
	line("  %s = %s at δ_µ = %.3g, the lesser of", Column, text(f.mu), f.Delta)
	line("    estimate    %s  %v, order %d, confidence 1 - %.2g", text(f.estimate), f.Estimator, f.Order, f.FailureDelta)
	if w := opaque.Open(f.worst); mathx.IsFinite(w) {
		line("    worst case  %s  moments accountant, every distance at its bound", text(f.worst))
	}
	line("    from %d distances, at least %d a step, of %d steps", f.Distances, f.Fewest, f.Steps-f.Unseen)
	if f.Unseen > 0 {
		line("    %d more steps have no distances and count as the worst case", f.Unseen)
	}
	line("    the best test finds a typical record with probability at most %s", number.DecimalsUp(AttackSuccess(f), 4))
	if share, err := f.ShareOutside(1e-5); err == nil && f.Delta < 1e-5 {
		line("    at δ = 1e-5 it may fail for a share %.2g of records", share)
	}
	if f.Estimator == StudentT {
		line("    Student's t interval is the published one. It misses its confidence under heavy tails.")
	}
}

type form struct {
	Schema       string    `json:"schema"`
	Private      bool      `json:"private"`
	DP           bool      `json:"differential_privacy"`
	Mu           float64   `json:"bayes_mu"`
	Estimate     float64   `json:"bayes_estimate"`
	Worst        *float64  `json:"worst_case_moments,omitempty"`
	Delta        float64   `json:"delta_mu"`
	FailureDelta float64   `json:"failure_delta"`
	Estimator    Estimator `json:"estimator"`
	Order        int       `json:"order"`
	Steps        int       `json:"steps"`
	Unseen       int       `json:"steps_without_distances"`
	Distances    int64     `json:"distances"`
	Fewest       int       `json:"fewest_distances"`
	Attack       float64   `json:"attack_success"`
	Caveats      []string  `json:"caveats"`
}

// MarshalJSON writes an object with the bound, all fields and the [Caveats].
func (f Figure) MarshalJSON() ([]byte, error) {
	out := form{
		Schema: Schema, Private: true, Mu: opaque.Open(f.mu), Estimate: opaque.Open(f.estimate),
		Delta: f.Delta, FailureDelta: f.FailureDelta, Estimator: f.Estimator, Order: f.Order,
		Steps: f.Steps, Unseen: f.Unseen, Distances: f.Distances, Fewest: f.Fewest,
		Attack: AttackSuccess(f), Caveats: Caveats(),
	}
	if w := opaque.Open(f.worst); mathx.IsFinite(w) {
		out.Worst = &w
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the object of MarshalJSON.
func (f *Figure) UnmarshalJSON(data []byte) error {
	var in form
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("bayes: %w", err)
	}
	if in.Schema != Schema || !in.Private || in.DP {
		return errors.New("bayes: this is no Bayesian figure, or it does not say that it is private")
	}
	*f = Figure{
		mu: opaque.Of(in.Mu), estimate: opaque.Of(in.Estimate), worst: opaque.Of(math.Inf(1)),
		Delta: in.Delta, FailureDelta: in.FailureDelta, Estimator: in.Estimator, Order: in.Order,
		Steps: in.Steps, Unseen: in.Unseen, Distances: in.Distances, Fewest: in.Fewest,
	}
	if in.Worst != nil {
		f.worst = opaque.Of(*in.Worst)
	}
	return nil
}
