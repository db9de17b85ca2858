package shell

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/run"
)

// maxOrders bounds how many orders a user can ask for.
const maxOrders = 100_000

// ParseOrders reads 1.5,2:64,1.1:10.9:0.1 in the order given.
func ParseOrders(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	var orders []float64
	for _, part := range strings.Split(text, ",") {
		var bounds []float64
		for _, s := range strings.Split(part, ":") {
			x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
			if err != nil || !mathx.IsFinite(x) {
				return nil, fmt.Errorf("--orders: %q is not a number or a range", part)
			}
			bounds = append(bounds, x)
		}
		lo, hi, step := bounds[0], bounds[0], 1.0
		switch len(bounds) {
		case 1:
		case 3:
			step = bounds[2]
			fallthrough
		case 2:
			hi = bounds[1]
		default:
			return nil, fmt.Errorf("--orders: %q is not FIRST:LAST:STEP", part)
		}
		if !(lo > 1) || hi < lo || !(step > 0) || (hi-lo)/step > maxOrders {
			return nil, fmt.Errorf("--orders: %q: orders are above 1, ranges go up, at most %d orders", part, maxOrders)
		}
		for i := 0; ; i++ {
			// Decimal steps are rounded, so that 1.1:10.9:0.1 has 2, not 2.0000000000000004.
			a := math.Round((lo+float64(i)*step)*1e9) / 1e9
			if a > hi+step*1e-9 {
				break
			}
			orders = append(orders, a)
		}
		if len(orders) > maxOrders {
			return nil, fmt.Errorf("--orders: at most %d orders", maxOrders)
		}
	}
	return orders, nil
}

// An AccountantEntry is an accountant a user can name, what sets its number apart, in a few words for a column,
// and why it is above the tightest.
type AccountantEntry struct {
	Name, Why, Gap string
	Start          func(cfg accountant.RDPConfig) (accountant.Accountant, error)
}

// Accountants lists them in the order of tables.
func Accountants() []AccountantEntry {
	type config = accountant.RDPConfig
	return []AccountantEntry{
		{"rdp", "the divergence at the best order", "keeps one number per order, and one order answers for all",
			func(c config) (accountant.Accountant, error) { return accountant.NewRDP(c) }},
		{"pld", "the whole privacy loss distribution", "sees the whole loss; gives up the width of its grid",
			func(c config) (accountant.Accountant, error) {
				return accountant.NewPLD(accountant.PLDConfig{Relation: c.Relation})
			}},
		{"moments", "integer moments to 32, classic tail bound", "tries whole orders to 32 alone, with the conversion of 2016",
			func(c config) (accountant.Accountant, error) { return theorems.NewMoments(c.Relation) }},
		{"zcdp", "one straight line above the divergence", "a line above the divergences; for Gaussian noise, the same",
			func(c config) (accountant.Accountant, error) { return theorems.NewZCDP(c.Relation, c.Conversion) }},
		{"basic", "adds up the worst of every run", "adds up as if every run lost its most at once",
			func(c config) (accountant.Accountant, error) { return theorems.NewBasic(c.Relation) }},
		{"advanced", "sees an (epsilon, delta) of each run, no more", "knows one (epsilon, delta) of each run; bounds a sum's tail",
			func(c config) (accountant.Accountant, error) {
				return theorems.NewAdvanced(c.Relation, theorems.BestTheorem)
			}},
		{"optimal", "the least that (epsilon, delta) of each run allow", "knows one (epsilon, delta) of each run, and uses all of it",
			func(c config) (accountant.Accountant, error) { return theorems.NewOptimal(c.Relation) }},
	}
}

func AccountantNames() []string {
	var names []string
	for _, a := range Accountants() {
		names = append(names, a.Name)
	}
	return names
}

func FindAccountant(name string) (AccountantEntry, bool) {
	all := Accountants()
	i := slices.IndexFunc(all, func(a AccountantEntry) bool { return a.Name == name })
	if i < 0 {
		return AccountantEntry{}, false
	}
	return all[i], true
}

func CheckAccountant(name string) error {
	_, known := FindAccountant(name)
	return If(!known, "--accountant %s: no such accountant; there are %s", name, strings.Join(AccountantNames(), ", "))
}

// Targets reads the value of --epsilon where it may have several, with commas. They are different, finite
// and above 0, and come back ascending.
func Targets(text string) ([]float64, error) {
	var targets []float64
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		x, err := strconv.ParseFloat(word, 64)
		switch {
		case strings.TrimSpace(text) == "":
			return nil, errors.New("--epsilon is empty")
		case err != nil || !(x > 0 && x <= math.MaxFloat64):
			return nil, fmt.Errorf("--epsilon %s: must be finite numbers above 0", word)
		case slices.Contains(targets, x):
			return nil, fmt.Errorf("--epsilon %s: it is there twice", word)
		}
		targets = append(targets, x)
	}
	slices.Sort(targets)
	return targets, nil
}

// TargetsText returns what [Targets] reads.
func TargetsText(targets []float64) string {
	words := make([]string, len(targets))
	for i, x := range targets {
		words[i] = number.Exact(x)
	}
	return strings.Join(words, ",")
}

// CheckDelta refuses a delta that allows giving away one of n units, which a noun names; nothing where n is
// 0, not known.
func CheckDelta(delta float64, n int, noun string) error {
	return FaultError(run.Units{N: n, Noun: noun}.Check(delta), "privacy")
}
