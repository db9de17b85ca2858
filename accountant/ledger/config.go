package ledger

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pate-go/pate/accountant"
)

// Mode states when costs are chosen, which decides which total is a bound.
type Mode int

const (
	// Reserved is the default: all reservations are made before the first use, which seals the ledger.
	Reserved Mode = iota
	// Filter is for costs chosen while looking at earlier answers, by one program or by several.
	Filter
)

func (m Mode) String() string {
	switch m {
	case Reserved:
		return "reserved"
	case Filter:
		return "filter"
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) {
	if m != Reserved && m != Filter {
		return nil, fmt.Errorf("ledger: %v is neither Reserved nor Filter", m)
	}
	return []byte(m.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Mode) UnmarshalText(text []byte) error {
	for _, known := range []Mode{Reserved, Filter} {
		if string(text) == known.String() {
			*m = known
			return nil
		}
	}
	return fmt.Errorf("ledger: mode %q is neither reserved nor filter", text)
}

// Noise is the source of the noise of everything charged to a ledger; "" if the ledger does not record it.
type Noise string

const (
	// SecretNoise comes from the operating system's randomness, or from a secret key drawn there: outcomes
	// may be released.
	SecretNoise Noise = "secret"
	// SeededNoise can be recomputed from the seed. It protects nothing: no outcome may be released.
	SeededNoise Noise = "seeded"
)

// Config fixes what a ledger accounts for. The first line of the file holds the Config, and opening the file
// again compares it field by field.
type Config struct {
	Unit     string              // who or what one change of the data concerns: "record", "user", "silo"; required
	Relation accountant.Relation // required
	Epsilon  float64             // the budget, > 0, +Inf refused
	Delta    float64             // in (0, 1)
	Mode     Mode                // default Reserved
	// Orders are the Rényi orders, each above 1. In mode Reserved the best one is chosen at the end; nil
	// means accountant.DefaultOrders, refined. In mode Filter they are fixed, and Delta is split evenly among
	// the finite orders; nil means the one order at which the budget admits the largest Gaussian cost. +Inf
	// is the sum of pure epsilons, and needs no part of Delta.
	Orders []float64
	// Accountant proves the claim: Rényi divergences (ByRDP, the default), or in mode Reserved also privacy
	// loss distributions where they support the events (ByAuto), or those alone (ByPLD). ByAuto and ByPLD
	// refuse mechanisms whose event bounds only Rényi divergences, such as DP-SGD and mechanisms behind a
	// gate. An existing file keeps its accountant; opening it with another returns ErrOtherConfig.
	Accountant accountant.Method
	// FailureDelta is, in mode Filter, the part of Delta kept for events that may fail, such as a stability
	// release; 0 refuses them. Mode Reserved uses what the events need, and refuses this field.
	FailureDelta float64
	// Run identifies a resumable run: the same private input, the same secret key for all noise, the same
	// sequence of reservations. When the file is opened again, a Reserve that repeats the next recorded entry
	// returns that entry and charges nothing: its answers are the same bit for bit, so nothing more is
	// revealed. Leave Run empty if noise is fresh. Runs that share a ledger use [Ledger.Run] instead.
	Run string
	// Data identifies the private input, such as the SHA-256 of a vote file. Optional.
	Data string
	// Noise is the source of all noise. Optional; without it no statement allows release.
	Noise Noise
	// Waived lists, in order, the refusals that the owner of the data overrode, such as "duplicates" for
	// teachers that vote alike. The claim of the ledger may then be untrue, so nothing may be released, as
	// with SeededNoise.
	Waived []string
}

// Releasable reports whether committed outcomes may be released.
func (c Config) Releasable() bool { return c.Noise == SecretNoise && len(c.Waived) == 0 }

// Withheld returns in words why no committed outcome may be released. It returns "" if outcomes may be
// released, or if the source of the noise is not recorded.
func (c Config) Withheld() string {
	var why []string
	if len(c.Waived) > 0 {
		why = append(why, fmt.Sprintf("refusals were waived (%s), so epsilon may be wrong", strings.Join(c.Waived, ", ")))
	}
	if c.Noise == SeededNoise {
		why = append(why, "the noise comes from a seed")
	}
	return strings.Join(why, "; ")
}

// checkWaived refuses anything but a strictly increasing list of names.
func checkWaived(names []string) error {
	for i, name := range names {
		if name == "" || len(name) > maxWaiver || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") != "" {
			return fmt.Errorf("%.40q is no name of small letters", name)
		}
		if i > 0 && name <= names[i-1] {
			return errors.New("the names must go up, each once")
		}
	}
	return nil
}

const (
	maxText   = 4096 // bytes of a string of a Config and of the name of a run
	maxWaiver = 40   // bytes of a name in Config.Waived
	maxOrders = 4096
)

// Method returns the accountant that proves the claim.
func (c Config) Method() accountant.Method {
	if c.Accountant == "" || c.Mode == Filter {
		return accountant.ByRDP
	}
	return c.Accountant
}

func (c Config) validate() error {
	if _, err := accountant.ParseMethod(string(c.Method())); err != nil {
		return fmt.Errorf("ledger: Config.Accountant: %w", err)
	}
	switch {
	case c.Mode == Filter && c.Accountant == accountant.ByPLD:
		return errors.New("ledger: Config.Accountant: privacy loss distributions are no filter: " +
			"costs that are chosen while looking at answers are accounted in mode Filter by Rényi divergences")
	case c.Unit == "":
		return errors.New("ledger: Config.Unit is empty: say whose data one change is, such as record or user")
	case c.Relation != accountant.AddRemove && c.Relation != accountant.ReplaceOne:
		return errors.New("ledger: Config.Relation must be AddRemove or ReplaceOne")
	case !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 1):
		return fmt.Errorf("ledger: Config.Epsilon %v must be finite and above 0", c.Epsilon)
	case !(c.Delta > 0 && c.Delta < 1):
		return fmt.Errorf("ledger: Config.Delta %v must lie strictly between 0 and 1", c.Delta)
	case c.Mode != Reserved && c.Mode != Filter:
		return fmt.Errorf("ledger: Config.Mode %v must be Reserved or Filter", c.Mode)
	case c.Mode == Reserved && c.FailureDelta != 0:
		return errors.New("ledger: Config.FailureDelta is for mode Filter: in mode Reserved events take what they need")
	case !(c.FailureDelta >= 0 && c.FailureDelta < c.Delta):
		return fmt.Errorf("ledger: Config.FailureDelta %v must be at least 0 and below Delta", c.FailureDelta)
	case c.Noise != "" && c.Noise != SecretNoise && c.Noise != SeededNoise:
		return fmt.Errorf("ledger: Config.Noise %q must be SecretNoise, SeededNoise or left out", string(c.Noise))
	case len(c.Orders) > maxOrders:
		return fmt.Errorf("ledger: Config.Orders has %d orders, at most %d are taken", len(c.Orders), maxOrders)
	}
	for _, field := range []struct{ name, value string }{{"Unit", c.Unit}, {"Run", c.Run}, {"Data", c.Data}} {
		if err := checkText(field.value); err != nil {
			return fmt.Errorf("ledger: Config.%s: %w", field.name, err)
		}
	}
	if err := checkWaived(c.Waived); err != nil {
		return fmt.Errorf("ledger: Config.Waived: %w", err)
	}
	for i, a := range c.Orders {
		if !(a > 1) {
			return fmt.Errorf("ledger: Config.Orders: order %v is not above 1", a)
		}
		if i > 0 && !(a > c.Orders[i-1]) {
			return errors.New("ledger: Config.Orders must go up, each order once")
		}
	}
	return nil
}

func checkText(s string) error {
	switch {
	case len(s) > maxText:
		return fmt.Errorf("%d bytes, at most %d are taken", len(s), maxText)
	case !utf8.ValidString(s):
		return errors.New("it is not UTF-8")
	}
	return nil
}

// ErrOtherConfig is returned if the file of a ledger was made with another Config.
var ErrOtherConfig = errors.New("ledger: another configuration")

// sameConfig returns an error that lists every field in which the configurations differ. Nil Orders mean the
// default orders.
func sameConfig(made, opened Config) error {
	var differ []string
	for _, field := range []struct {
		name         string
		made, opened any
	}{
		{"Unit", made.Unit, opened.Unit},
		{"Relation", made.Relation, opened.Relation},
		{"Epsilon", made.Epsilon, opened.Epsilon},
		{"Delta", made.Delta, opened.Delta},
		{"Mode", made.Mode, opened.Mode},
		{"FailureDelta", made.FailureDelta, opened.FailureDelta},
		{"Run", made.Run, opened.Run},
		{"Data", made.Data, opened.Data},
		{"Noise", string(made.Noise), string(opened.Noise)},
		{"Waived", strings.Join(made.Waived, ","), strings.Join(opened.Waived, ",")},
	} {
		if field.made == field.opened {
			continue
		}
		format := "%s is %v, opened with %v"
		if _, ok := field.made.(string); ok {
			format = "%s is %q, opened with %q"
		}
		differ = append(differ, fmt.Sprintf(format, field.name, field.made, field.opened))
	}
	if opened.Accountant != "" && made.Method() != opened.Method() {
		differ = append(differ, fmt.Sprintf("Accountant is %v, opened with %v", made.Method(), opened.Method()))
	}
	if !slices.Equal(made.Orders, opened.Orders) {
		differ = append(differ, fmt.Sprintf("Orders are %v, opened with %v", made.Orders, opened.Orders))
	}
	if differ == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOtherConfig, strings.Join(differ, "; "))
}
