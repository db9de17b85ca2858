package shell

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/number"
)

// ParameterFlags are --mechanism and the flags of the parameters of mechanisms, which
// derive from their descriptions.
type ParameterFlags struct {
	Mechanism string
	known     []aggregate.Description
	Values    map[string]*parameterValue
	Uncapped  bool // without caps, and for noise of any size: an analysis, not a run
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
	for _, d := range mechanisms.All() {
		if wanted == nil || wanted(d) {
			f.known = append(f.known, d)
		}
	}
	names := f.users("")
	cmd.Flags().StringVar(&f.Mechanism, "mechanism", "", usage+"; "+strings.Join(names, ", "))
	Complete(cmd, map[string]Values{"mechanism": Words(names...)})
	for _, d := range f.known {
		for _, p := range d.Parameters {
			if f.Values[p.Name] == nil && !(f.Uncapped && p.Kind == "cap") {
				f.Values[p.Name] = &parameterValue{whole: p.Kind == "cap"}
				cmd.Flags().Var(f.Values[p.Name], p.Name, f.usage(p.Name))
			}
		}
	}
}

// usage describes a parameter for each of the mechanisms that have it.
func (f *ParameterFlags) usage(parameter string) string {
	var docs []string
	users := map[string][]string{} // of each doc
	for _, d := range f.known {
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

// DescribeParameter returns the description and the unit of a parameter.
func DescribeParameter(p aggregate.Parameter) string {
	if p.Unit == "" {
		return p.Doc
	}
	return p.Doc + ", in " + p.Unit
}

// users lists the known mechanisms that have a parameter; all of them for none.
func (f *ParameterFlags) users(parameter string) []string {
	var names []string
	for _, d := range f.known {
		if _, has := d.Parameter(parameter); has || parameter == "" {
			names = append(names, d.Name)
		}
	}
	return names
}

func (f *ParameterFlags) described() (aggregate.Description, error) {
	i := slices.IndexFunc(f.known, func(d aggregate.Description) bool { return d.Name == f.Mechanism })
	if i < 0 {
		return aggregate.Description{}, Usagef("mechanisms", "--mechanism %q: must be one of %s%s", f.Mechanism,
			strings.Join(f.users(""), ", "), didYouMean(f.Mechanism, f.users("")))
	}
	return f.known[i], nil
}

// Setting returns the mechanism and the parameters that were given. complete: all that
// has no default must be.
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
			return d, s, Usagef("mechanisms", "--%s is for --mechanism %s, not %s", name, strings.Join(f.users(name), ", "), d.Name)
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

// Value returns the value of a flag, 0 if there is none.
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

// FlagsOf writes the parameters of a setting that are wanted as flags.
func FlagsOf(d aggregate.Description, s aggregate.Setting, wanted func(aggregate.Parameter) bool) string {
	var flags []string
	for _, p := range d.Parameters {
		if v, ok := s.Values[p.Name]; ok && wanted(p) {
			flags = append(flags, fmt.Sprintf("--%s %s", p.Name, number.Exact(v)))
		}
	}
	return strings.Join(flags, " ")
}

// LabelFlags writes a setting as the flags of pate label, for queries that begin at from.
func LabelFlags(s aggregate.Setting, from int) string {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil { // as for no mechanism that was planned
		return ""
	}
	flags := FlagsOf(d, s, func(aggregate.Parameter) bool { return true })
	return fmt.Sprintf("--mechanism %s %s --queries %d:%d", s.Mechanism, flags, from, from+s.Queries)
}
