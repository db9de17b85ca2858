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

// Mode determines whether costs may depend on earlier answers.
type Mode int

const (
	// Reserved is the default. All reservations precede the first use, which seals the ledger.
	Reserved Mode = iota
	// Filter allows costs that depend on earlier answers. Several programs may use the ledger, one after the
	// other.
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

func (m Mode) MarshalText() ([]byte, error) {
	if m != Reserved && m != Filter {
		return nil, fmt.Errorf("ledger: %v is neither Reserved nor Filter", m)
	}
	return []byte(m.String()), nil
}

func (m *Mode) UnmarshalText(text []byte) error {
	for _, known := range []Mode{Reserved, Filter} {
		if string(text) == known.String() {
			*m = known
			return nil
		}
	}
	return fmt.Errorf("ledger: mode %q is neither reserved nor filter", text)
}

// Noise is the source of all noise that is charged to a ledger, or "" if unknown.
type Noise string

const (
	// SecretNoise comes from the operating system or from a secret key. Results may be released.
	SecretNoise Noise = "secret"
	// SeededNoise can be computed again from the seed, so results must not be released.
	SeededNoise Noise = "seeded"
)

// Config holds the fixed settings of a ledger. The first line of the ledger file contains the Config. Opening
// the file again compares every field with this line.
type Config struct {
	Unit     string              // protected unit, such as "record", "user", "silo"; required
	Relation accountant.Relation // required
	Epsilon  float64             // budget; finite and > 0
	Delta    float64             // in (0, 1)
	Mode     Mode                // default Reserved
	// Orders holds the increasing Rényi orders, each above 1. Mode Reserved uses the best order. In mode
	// Filter the finite orders share Delta evenly. Order +Inf adds up pure epsilons and uses no Delta. If
	// Orders is empty, mode Reserved uses accountant.DefaultOrders and also tries orders between them. If
	// Orders is empty, mode Filter uses one finite order of accountant.DefaultOrders. This order permits the
	// largest Gaussian release ([Left.Rho]).
	Orders []float64
	// Accountant proves the epsilon. The default, ByRDP, uses Rényi divergences. Mode Reserved also allows
	// ByPLD and ByAuto. ByPLD uses privacy loss distributions. ByAuto uses the smaller bound if both kinds
	// exist. ByAuto and ByPLD refuse mechanisms for which only bounds on Rényi divergences exist. DP-SGD is
	// such a mechanism, unless its event is an accountant.WithFailure (see package dpsgd). A file keeps its
	// accountant: a different value, unless empty, fails with ErrOtherConfig.
	Accountant accountant.Method
	// FailureDelta is the part of Delta for events with a failure probability, such as a stability release.
	// If it is 0, mode Filter refuses such events. Mode Reserved requires 0.
	FailureDelta float64
	// Run identifies a resumable run with a fixed private input, secret key and reservations. After the file
	// is opened again, Reserve first returns the recorded entries, in order and without a charge. No charge
	// is needed, because a rerun gives identical answers. If a rerun has different noise, Run must be empty.
	// For runs on a shared ledger see [Ledger.Run].
	Run string
	// Data identifies the private input, for example by the SHA-256 of a vote file. It is optional and
	// is not interpreted. An existing ledger must have the same Data.
	Data string
	// Noise is the source of all noise. If Noise is empty, [Config.Releasable] is false.
	Noise Noise
	// Waived holds the sorted names of checks that the data owner skipped, such as "duplicates" (teachers
	// that vote identically). If a check was skipped, Epsilon may be wrong, so nothing may be released.
	Waived []string
}

// Releasable reports whether committed outcomes may be released: the noise is secret and no check was
// skipped.
func (c Config) Releasable() bool { return c.Noise == SecretNoise && len(c.Waived) == 0 }

// Withheld returns the reason why no committed outcome may be released. It returns "" if outcomes may be
// released, or if the source of the noise is unknown.
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

func checkWaived(names []string) error {
	for i, name := range names {
		if name == "" || len(name) > maxWaiver || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") != "" {
			return fmt.Errorf("%.40q is not a name of small letters", name)
		}
		if i > 0 && name <= names[i-1] {
			return errors.New("the names must be sorted and distinct")
		}
	}
	return nil
}

const (
	maxText   = 4096 // bytes of a string in a Config or of a run's name
	maxWaiver = 40   // bytes of a name in Config.Waived
	maxOrders = 4096
)

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
		return errors.New("ledger: Config.Accountant: privacy loss distributions do not bound a filter: " +
			"mode Filter, whose costs are chosen after seeing answers, needs Rényi divergences")
	case c.Unit == "":
		return errors.New("ledger: Config.Unit is empty: give the protected unit, such as record or user")
	case c.Relation != accountant.AddRemove && c.Relation != accountant.ReplaceOne:
		return errors.New("ledger: Config.Relation must be AddRemove or ReplaceOne")
	case !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 1):
		return fmt.Errorf("ledger: Config.Epsilon %v must be finite and above 0", c.Epsilon)
	case !(c.Delta > 0 && c.Delta < 1):
		return fmt.Errorf("ledger: Config.Delta %v must lie strictly between 0 and 1", c.Delta)
	case c.Mode != Reserved && c.Mode != Filter:
		return fmt.Errorf("ledger: Config.Mode %v must be Reserved or Filter", c.Mode)
	case c.Mode == Reserved && c.FailureDelta != 0:
		return errors.New("ledger: Config.FailureDelta is only for mode Filter")
	case !(c.FailureDelta >= 0 && c.FailureDelta < c.Delta):
		return fmt.Errorf("ledger: Config.FailureDelta %v must be at least 0 and below Delta", c.FailureDelta)
	case c.Noise != "" && c.Noise != SecretNoise && c.Noise != SeededNoise:
		return fmt.Errorf("ledger: Config.Noise %q must be SecretNoise, SeededNoise or empty", string(c.Noise))
	case len(c.Orders) > maxOrders:
		return fmt.Errorf("ledger: Config.Orders has %d orders, but at most %d are allowed", len(c.Orders), maxOrders)
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
			return errors.New("ledger: Config.Orders must be sorted and distinct")
		}
	}
	return nil
}

func checkText(s string) error {
	switch {
	case len(s) > maxText:
		return fmt.Errorf("%d bytes, but at most %d are allowed", len(s), maxText)
	case !utf8.ValidString(s):
		return errors.New("the text is not UTF-8")
	}
	return nil
}

// ErrOtherConfig matches the error for a ledger file with a different Config.
var ErrOtherConfig = errors.New("ledger: another configuration")

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
