package statement

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/buildinfo"
)

const schema = "pate.statement/1"

// Statement describes everything charged to one ledger, or to several ledgers together.
type Statement struct {
	Schema   string              `json:"schema"`
	Ledger   string              `json:"ledger"` // name of the file
	Unit     string              `json:"unit"`
	Relation accountant.Relation `json:"relation"`
	Mode     ledger.Mode         `json:"mode"`
	Budget   Claim               `json:"budget"`
	Claims   []Claim             `json:"claims"` // at three deltas, first at the delta of the budget
	Attacker Attacker            `json:"attacker"`

	Accountant string    `json:"accountant"`
	Conversion string    `json:"conversion"`
	Orders     []float64 `json:"orders,omitempty"` // orders of a filter, without +Inf
	Pure       bool      `json:"pure,omitempty"`   // the filter has order +Inf
	Library    string    `json:"library"`
	Seal       string    `json:"seal,omitempty"` // explanation if another version sealed a different epsilon

	Charged   []accountant.Part    `json:"charged"` // equal parts are combined
	Entries   int64                `json:"entries"`
	Committed int64                `json:"committed"`
	Complete  bool                 `json:"complete"` // no more charges are possible
	Torn      string               `json:"torn,omitempty"`
	Schedule  *accountant.Schedule `json:"events"`
	NotShown  []string             `json:"not_charged"`
	Noise     string               `json:"noise"` // secret, seeded or unknown
	Release   *bool                `json:"releasable"`
	Waived    []string             `json:"waived,omitempty"` // checks that were overridden
	Data      string               `json:"data,omitempty"`
	Head      ledger.Head          `json:"head"`
	ID        string               `json:"id,omitempty"`            // random id of the ledger
	Released  []Released           `json:"released"`                // equal outcomes are combined
	More      int64                `json:"released_more,omitempty"` // number of outcomes that are not listed
	Program   Program              `json:"program"`                 // program that wrote the statement
	About     *About               `json:"about,omitempty"`
	Warning   string               `json:"warning,omitempty"` // set if the guarantee gives almost no protection
	// If there are several ledgers, Of lists the statement of each ledger.
	Of []*Statement `json:"ledgers,omitempty"`
	// Compared reports whether the ledger was compared with an earlier head, or is nil if that is unknown.
	Compared *bool `json:"head_compared,omitempty"`

	Facts

	sum ledger.Summary
	day string // date of an entry in the registry
}

// Program identifies the build that writes a statement.
type Program struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
}

// String returns "VERSION" or "VERSION, commit COMMIT".
func (p Program) String() string {
	if p.Commit == "" {
		return p.Version
	}
	return p.Version + ", commit " + p.Commit
}

func thisProgram() Program {
	build := buildinfo.Read()
	p := Program{Version: build.Version, Commit: build.Commit}
	if build.Modified {
		p.Commit += "+"
	}
	return p
}

// Options holds the contents of a statement that do not come from a ledger.
type Options struct {
	About *About // may be nil
	Files []File // released files to list by name; New refuses a file that was not released
	Facts
	// Program is the program that writes the statement. The default is the running program.
	Program Program
}

// Source is a ledger for a statement.
type Source struct {
	Name   string // name on the page; the file is not opened
	Ledger io.Reader
	Heads  func(id string) ([]ledger.Head, error) // see ledger.VerifyOptions
	// Compared reports whether the ledger was compared with an earlier head. It is called after Ledger was
	// read, and may be nil.
	Compared func() bool
}

// Claim is one (epsilon, delta) guarantee.
type Claim struct {
	Epsilon *bound  `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

type bound float64

func (b bound) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(b), 1) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(b))
}

// Attacker bounds the success of an attacker who guesses only whether one unit is in the data. The attacker
// has all data.
type Attacker struct {
	Right float64 `json:"right"` // largest probability of a correct guess, at prior odds of 1 to 1
	Curve bool    `json:"curve"` // computed from the trade-off curve, not from one (epsilon, delta)
	Rates []Rate  `json:"rates"`
}

// Rate bounds membership tests: at false positive rate FPR, the true positive rate is at most TPR.
type Rate struct {
	FPR float64 `json:"fpr"`
	TPR float64 `json:"tpr"`
}

// Right returns (e^epsilon + delta)/(1 + e^epsilon), the largest probability of a correct guess between two
// equally likely neighbours.
func Right(epsilon, delta float64) float64 {
	if math.IsInf(epsilon, 1) {
		return 1
	}
	r := math.Exp(-epsilon)
	return math.Min(1, (1+delta*r)/(1+r)*(1+1e-15))
}

// TPR returns the largest true positive rate of a membership test with false positive rate fpr. The rate is
// min(e^epsilon fpr + delta, 1 - e^-epsilon (1 - delta - fpr)) (Kairouz, Oh, Viswanath 2015, Theorem 2.1).
func TPR(epsilon, delta, fpr float64) float64 {
	if math.IsInf(epsilon, 1) {
		return 1
	}
	tpr := delta
	if fpr > 0 { // avoids 0 times an overflow of e^epsilon
		tpr += math.Exp(epsilon) * fpr
	}
	tpr = math.Min(tpr, 1-math.Exp(-epsilon)*(1-delta-fpr))
	return math.Max(0, math.Min(1, tpr*(1+1e-15)))
}

// FromReader verifies the ledger in r and makes a statement, in which name is the name of the ledger. If
// the ledger is corrupt, the error is a *ledger.CorruptError.
func FromReader(name string, r io.Reader) (*Statement, error) {
	return New(Options{}, Source{Name: name, Ledger: r})
}

// New verifies the ledgers and makes their statement. Several ledgers must differ, and must have the same
// unit and relation. Errors that the user can fix are [*fault.Error].
func New(opt Options, sources ...Source) (*Statement, error) {
	if len(sources) == 0 {
		return nil, errors.New("statement: no ledger")
	}
	if opt.Program == (Program{}) {
		opt.Program = thisProgram()
	}
	found := map[[sha256.Size]byte]bool{}
	paid, err := opt.paid()
	if err != nil {
		return nil, err
	}
	opt.Files = paid
	var all []*Statement
	for _, source := range sources {
		s, err := one(source, opt, found)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source.Name, err)
		}
		all = append(all, s)
	}
	for _, f := range opt.Files {
		if !found[f.SHA256] {
			return nil, &fault.Error{What: "no ledger entry records the release of " + cmp.Or(f.Name, "the labels of a model"),
				Why: "a statement lists only files whose hash is in one of its ledgers",
				Fix: "give the file as it was released, or the ledger that was charged for this file", Check: true, Err: errNotReleased}
		}
	}
	s := all[0]
	if len(all) > 1 {
		if s, err = together(all); err != nil {
			return nil, err
		}
	}
	s.About, s.Program, s.Facts = opt.About, opt.Program, opt.Facts
	if err := s.keepAudits(); err != nil {
		return nil, err
	}
	return s, nil
}

func one(source Source, opt Options, found map[[sha256.Size]byte]bool) (*Statement, error) {
	out := newOutcomes(opt.Files)
	sum, err := ledger.Verify(source.Ledger, ledger.VerifyOptions{Heads: source.Heads, Entry: out.entry, Outcome: out.commit})
	if err != nil {
		return nil, err
	}
	for file := range out.found {
		found[file] = true
	}
	cfg := sum.Config
	s := &Statement{
		Schema: schema, Ledger: Plain(source.Name), Unit: cfg.Unit, Relation: cfg.Relation, Mode: cfg.Mode,
		Accountant: string(sum.Claimed.By), Conversion: accountant.Improved.String(), Library: sum.Library, Seal: OfSeal(sum),
		Entries: sum.Entries, Committed: sum.Commits, Complete: sum.Sealed || sum.Exhausted, Torn: sum.Torn,
		Schedule: &sum.Schedule, NotShown: notCharged(cfg), Data: cfg.Data, Waived: cfg.Waived, Head: sum.Head,
		ID: sum.ID, Released: out.released(), More: out.more, Program: opt.Program, sum: sum,
	}
	if source.Compared != nil {
		compared := source.Compared()
		s.Compared = &compared
	}
	budget := bound(cfg.Epsilon)
	s.Budget = Claim{&budget, cfg.Delta}
	for _, delta := range []float64{cfg.Delta, short(cfg.Delta / 10), short(cfg.Delta / 1000)} {
		epsilon, err := sum.Claim(delta)
		if err != nil {
			return nil, fmt.Errorf("statement: %w", err)
		}
		upper := bound(epsilon)
		s.Claims = append(s.Claims, Claim{&upper, delta})
	}
	s.Warning = Warning(s.epsilon())
	by, fixed := s.fixed()
	s.Attacker = AttackerOf(s.epsilon(), cfg.Delta, by, fixed...)
	if cfg.Mode == ledger.Filter {
		for _, a := range sum.Orders {
			if s.Pure = math.IsInf(a, 1); !s.Pure {
				s.Orders = append(s.Orders, a)
			}
		}
	}
	s.Charged = charged(sum.Schedule.Events)
	s.Noise = cmp.Or(string(cfg.Noise), "unknown")
	if releasable := cfg.Releasable(); releasable || cfg.Withheld() != "" {
		s.Release = &releasable
	}
	return s, nil
}

func (s *Statement) fixed() (by accountant.AutoConfig, events []accountant.Event) {
	// Only in mode Reserved are events fixed in advance. In mode Filter only the budget is a bound.
	if len(s.Of) == 0 && s.Mode == ledger.Reserved && !s.sum.Exhausted {
		events = s.Schedule.Events
	}
	return accountant.AutoConfig{Relation: s.Relation, Method: s.sum.Config.Method()}, events
}

// AttackerOf bounds an attacker's success rates by (epsilon, delta). If accountant.NewAuto(by) supports the
// trade-off curve of events, each result is the smaller of this bound and the bound by the curve.
func AttackerOf(epsilon, delta float64, by accountant.AutoConfig, events ...accountant.Event) Attacker {
	a := Attacker{Right: Right(epsilon, delta)}
	curve, err := curveOf(by, events) // after an error the bound by (epsilon, delta) remains valid
	if a.Curve = curve != nil && err == nil; a.Curve {
		if v, err := curve.Right(0.5); err == nil {
			a.Right = math.Min(a.Right, v.Upper)
		}
	}
	for _, fpr := range []float64{0.001, 0.01, 0.1} {
		rate := Rate{fpr, TPR(epsilon, delta, fpr)}
		if a.Curve {
			if v, err := curve.TPR(fpr); err == nil {
				rate.TPR = math.Min(rate.TPR, v.Upper)
			}
		}
		a.Rates = append(a.Rates, rate)
	}
	return a
}

func curveOf(by accountant.AutoConfig, events []accountant.Event) (*accountant.Risk, error) {
	if len(events) == 0 {
		return nil, nil
	}
	account, err := accountant.NewAuto(by)
	for _, e := range events {
		if err == nil {
			err = account.Compose(e, 1)
		}
	}
	if err != nil {
		return nil, err
	}
	return account.Risk(context.Background())
}

func short(x float64) float64 {
	near, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
	if err != nil || !(near > 0) {
		return x
	}
	return near
}

// Parts splits an event into the mechanisms that it runs.
func Parts(e accountant.Event) []accountant.Part { return accountant.Describe(e, digits, most) }

func charged(events []accountant.Event) []accountant.Part {
	parts := []accountant.Part{}
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
			parts[i].Count += min(p.Count, math.MaxInt64-parts[i].Count)
		}
	}
	return parts
}

// absurd is the largest epsilon without a warning. Epsilon 20 can multiply an attacker's odds by 485 million.
const absurd = 20

// Warning returns a warning for an epsilon that gives almost no protection, and "" otherwise.
func Warning(epsilon float64) string {
	if !(epsilon > absurd) {
		return ""
	}
	if math.IsInf(epsilon, 1) {
		return "no epsilon is known, so nothing is guaranteed"
	}
	return fmt.Sprintf("epsilon %s gives almost no protection: an attacker's odds of 1 to 1 may become more than 10^%g to 1; "+
		"budgets are usually at most 10", most(epsilon), math.Floor(math.Min(epsilon/math.Ln10, 300)))
}
