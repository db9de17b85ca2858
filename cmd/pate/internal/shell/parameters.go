package shell

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/run"
)

// ParameterFlags are --mechanism and one flag for each parameter of the known mechanisms.
type ParameterFlags struct {
	Mechanism string
	Known     []aggregate.Description // default: the mechanisms of package mechanisms
	Values    map[string]*parameterValue
	Others    []string // mechanisms without a description, which --mechanism accepts too
	Uncapped  bool     // for an analysis: no caps, and noise of any size
}

type parameterValue struct {
	number float64
	whole  bool
}

func (v *parameterValue) String() string { return number.Exact(v.number) }

func (v *parameterValue) Type() string {
	if v.whole {
		return "int"
	}
	return "float"
}

func (v *parameterValue) Set(text string) (err error) {
	if v.whole {
		n, err := strconv.ParseInt(text, 10, 64)
		v.number = float64(n)
		return err
	}
	v.number, err = strconv.ParseFloat(text, 64)
	return err
}

func (f *ParameterFlags) AddParameters(cmd *cobra.Command, usage string, wanted func(aggregate.Description) bool) {
	f.Values = map[string]*parameterValue{}
	if f.Known == nil {
		f.Known = mechanisms.All()
	}
	if wanted != nil {
		f.Known = slices.DeleteFunc(f.Known, func(d aggregate.Description) bool { return !wanted(d) })
	}
	names := append(f.users(""), f.Others...)
	cmd.Flags().StringVar(&f.Mechanism, "mechanism", "", usage+": "+strings.Join(names, ", "))
	Take("one", names...).Of(cmd.Flag("mechanism"))
	for _, d := range f.Known {
		for _, p := range d.Parameters {
			if f.Values[p.Name] == nil && !(f.Uncapped && p.Kind == "cap") {
				f.Values[p.Name] = &parameterValue{whole: p.Kind == "cap"}
				cmd.Flags().Var(f.Values[p.Name], p.Name, f.usage(p.Name))
			}
		}
	}
}

func (f *ParameterFlags) usage(parameter string) string {
	var docs []string
	users := map[string][]string{} // by usage text
	for _, d := range f.Known {
		p, ok := d.Parameter(parameter)
		if !ok {
			continue
		}
		doc := DescribeParameter(p)
		if p.DefaultDoc != "" {
			doc += " (default " + p.DefaultDoc + ")"
		}
		if users[doc] == nil {
			docs = append(docs, doc)
		}
		users[doc] = append(users[doc], d.Name)
	}
	for i, doc := range docs {
		docs[i] = strings.Join(users[doc], ", ") + ": " + doc
	}
	return strings.Join(docs, "; ")
}

func DescribeParameter(p aggregate.Parameter) string {
	if p.Unit == "" {
		return p.Doc
	}
	return p.Doc + ", in " + p.Unit
}

func (f *ParameterFlags) users(parameter string) []string {
	var names []string
	for _, d := range f.Known {
		if _, has := d.Parameter(parameter); has || parameter == "" {
			names = append(names, d.Name)
		}
	}
	return names
}

func (f *ParameterFlags) described() (aggregate.Description, error) {
	i := slices.IndexFunc(f.Known, func(d aggregate.Description) bool { return d.Name == f.Mechanism })
	if i < 0 {
		return aggregate.Description{}, Usagef("mechanisms", "--mechanism %q: must be one of %s%s", f.Mechanism,
			strings.Join(f.users(""), ", "), didYouMean(f.Mechanism, f.users("")))
	}
	return f.Known[i], nil
}

// Setting returns the mechanism and the given parameters. If complete is true, a missing parameter without a
// default is an error.
func (f *ParameterFlags) Setting(cmd *cobra.Command, complete bool) (aggregate.Description, aggregate.Setting, error) {
	d, err := f.described()
	if err != nil {
		return d, aggregate.Setting{}, err
	}
	s := aggregate.Setting{Mechanism: d.Name}
	for name, v := range f.Values {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if _, own := d.Parameter(name); !own {
			return d, s, Usagef("mechanisms", "--%s is not for --mechanism %s, only for %s", name, d.Name, strings.Join(f.users(name), ", "))
		}
		s = s.With(name, v.number)
	}
	for _, p := range d.Parameters {
		v, given := s.Values[p.Name]
		switch {
		case given && (p.Kind == "noise" || p.Kind == "cap") && !(v > 0 && v <= math.MaxFloat64):
			return d, s, Usagef("mechanisms", "--%s %v: must be above 0%s", p.Name, v,
				map[bool]string{false: "; leave it out to have it chosen"}[complete])
		case !given && p.Default == nil && (complete || !p.Chosen()):
			return d, s, Usagef("mechanisms", "--mechanism %s needs --%s", d.Name, strings.Join(required(d, complete), ", --"))
		}
	}
	if f.Uncapped {
		return d, s, nil
	}
	if err := d.CheckValues(s); err != nil {
		return d, s, UsageError("mechanisms", errors.New(strings.TrimPrefix(err.Error(), "aggregate: ")))
	}
	return d, s, nil
}

func (f *ParameterFlags) Value(parameter string) float64 {
	if v := f.Values[parameter]; v != nil {
		return v.number
	}
	return 0
}

func required(d aggregate.Description, complete bool) []string {
	var names []string
	for _, p := range d.Parameters {
		if p.Default == nil && (complete || !p.Chosen()) {
			names = append(names, p.Name)
		}
	}
	return names
}

// FlagsOf formats as flags the parameters of s for which wanted returns true.
func FlagsOf(d aggregate.Description, s aggregate.Setting, wanted func(aggregate.Parameter) bool) string {
	var flags []string
	for _, p := range d.Parameters {
		if v, ok := s.Values[p.Name]; ok && wanted(p) {
			flags = append(flags, fmt.Sprintf("--%s %s", p.Name, number.Exact(v)))
		}
	}
	return strings.Join(flags, " ")
}

// LabelFlags formats s as flags of `pate label`, with --queries from:from+s.Queries.
func LabelFlags(s aggregate.Setting, from int) string {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil { // the mechanism cannot be planned
		return ""
	}
	flags := FlagsOf(d, s, func(aggregate.Parameter) bool { return true })
	return fmt.Sprintf("--mechanism %s %s --queries %d:%d", s.Mechanism, flags, from, from+s.Queries)
}

const maxOrders = 100_000

// ParseOrders parses a list of Rényi orders and ranges, such as 1.5,2:64,1.1:10.9:0.1, without sorting.
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
			return nil, fmt.Errorf("--orders %q: each order must be above 1; a range FROM:TO must rise and have at most %d orders", part, maxOrders)
		}
		for i := 0; ; i++ {
			// Round decimal steps, so that 1.1:10.9:0.1 has 2 instead of 2.0000000000000004.
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

// AccountantEntry describes an accountant. The field Why is a short text for tables. The field Gap
// explains why this accountant may give a larger epsilon than the best accountant.
type AccountantEntry struct {
	Name, Why, Gap string
	Start          func(cfg accountant.RDPConfig) (accountant.Accountant, error)
}

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

// Targets parses the values of --epsilon, which are separated by commas. The values must be distinct, finite
// and above 0. Targets returns the values in ascending order.
func Targets(text string) ([]float64, error) {
	var targets []float64
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		x, err := strconv.ParseFloat(word, 64)
		switch {
		case strings.TrimSpace(text) == "":
			return nil, errors.New("--epsilon is empty")
		case err != nil || !(x > 0 && x <= math.MaxFloat64):
			return nil, fmt.Errorf("--epsilon %s: every value must be a finite number above 0", word)
		case slices.Contains(targets, x):
			return nil, fmt.Errorf("--epsilon %s: the value is listed twice", word)
		}
		targets = append(targets, x)
	}
	slices.Sort(targets)
	return targets, nil
}

func TargetsText(targets []float64) string {
	words := make([]string, len(targets))
	for i, x := range targets {
		words[i] = number.Exact(x)
	}
	return strings.Join(words, ",")
}

// DefaultDelta sets g.Delta to [run.DefaultDelta] unless --delta was given. The number n of units must be
// public, or 0 if unknown.
func (g *Globals) DefaultDelta(given func(string) bool, n int, ledger string) {
	if given("delta") {
		return
	}
	g.Delta = run.DefaultDelta(n)
	if _, err := os.Stat(ledger); err != nil && g.Delta < run.UsualDelta { // an existing ledger has its own delta
		g.Logf("delta: %g, at most a tenth of 1/%d for %[2]d units; --delta sets another delta", g.Delta, n)
	}
}

// CheckDelta returns an error if delta would permit publishing the data of one of n units. If n is 0
// (unknown), any delta is accepted. The argument noun is the plural name of the unit, such as "teachers".
func CheckDelta(delta float64, n int, noun string) error {
	return FaultError(run.Units{N: n, Noun: noun}.Check(delta), "privacy")
}
