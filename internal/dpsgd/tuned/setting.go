package tuned

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
)

// Setting replaces fields of the base recipe in one training. Absent fields keep the base recipe's values.
// The cost of a training does not depend on its setting.
type Setting struct {
	Features     string   `json:"features,omitempty"`
	Model        string   `json:"model,omitempty"`
	Optimizer    string   `json:"optimizer,omitempty"` // sgd, adagrad, adam or adamw
	LearningRate *float64 `json:"learning_rate,omitempty"`
	Clip         *float64 `json:"clip,omitempty"` // does not change the cost: noise is proportional to the clip norm
	Momentum     *float64 `json:"momentum,omitempty"`
	WeightDecay  *float64 `json:"weight_decay,omitempty"`
	EMA          *float64 `json:"ema,omitempty"` // AverageDecay of a recipe
}

const MaxSettings = 10_000

// ErrSettings matches every error about a list of settings.
var ErrSettings = errors.New("tuned: bad settings")

type field struct {
	name   string
	text   *string
	number **float64
}

func (s *Setting) fields() []field {
	return []field{
		{"features", &s.Features, nil}, {"model", &s.Model, nil}, {"optimizer", &s.Optimizer, nil},
		{"learning_rate", nil, &s.LearningRate}, {"clip", nil, &s.Clip}, {"momentum", nil, &s.Momentum},
		{"weight_decay", nil, &s.WeightDecay}, {"ema", nil, &s.EMA},
	}
}

// String describes s in one line.
func (s Setting) String() string {
	var words []string
	for _, f := range s.fields() {
		switch {
		case f.text != nil && *f.text != "":
			words = append(words, f.name+" "+*f.text)
		case f.number != nil && *f.number != nil:
			words = append(words, f.name+" "+strconv.FormatFloat(**f.number, 'g', -1, 64))
		}
	}
	if len(words) == 0 {
		return "the base recipe"
	}
	return strings.Join(words, ", ")
}

func (s Setting) apply(base recipe.Recipe) recipe.Recipe {
	r := base
	r.Features, r.Model = cmp.Or(s.Features, r.Features), cmp.Or(s.Model, r.Model)
	if o := &r.Train.Optimizer; s.Optimizer != "" {
		momentum := o.Momentum
		*o = optim.Config{Method: optim.Method(s.Optimizer), WeightDecay: o.WeightDecay}
		if o.Method == optim.SGD {
			o.Momentum = momentum
		}
	}
	put := func(to *float64, x *float64) {
		if x != nil {
			*to = *x
		}
	}
	put(&r.Train.LearningRate, s.LearningRate)
	put(&r.Train.ClipNorm, s.Clip)
	put(&r.Train.Optimizer.Momentum, s.Momentum)
	put(&r.Train.Optimizer.WeightDecay, s.WeightDecay)
	put(&r.Train.AverageDecay, s.EMA)
	return r
}

// Around returns the default settings, which form a grid. Learning rates are 1/4, 1/2, 1, 2 and 4 times the
// rate of base. Clip norms are 1/4, 1/2, 1 and 2 times the norm of base.
func Around(base recipe.Recipe) []Setting {
	var all []Setting
	for _, rate := range []float64{0.25, 0.5, 1, 2, 4} {
		for _, clip := range []float64{0.25, 0.5, 1, 2} {
			lr, c := rate*base.Train.LearningRate, clip*base.Train.ClipNorm
			all = append(all, Setting{LearningRate: &lr, Clip: &c})
		}
	}
	return all
}

// Grid returns every combination of the given values. The keys of values are JSON names of fields of
// [Setting].
func Grid(values map[string][]string) ([]Setting, error) {
	all := []Setting{{}}
	known := 0
	for i, f := range (&Setting{}).fields() {
		words, given := values[f.name]
		if !given {
			continue
		}
		known++
		var wider []Setting
		for _, s := range all {
			for _, word := range words {
				one := s
				if err := one.fields()[i].set(word); err != nil {
					return nil, err
				}
				if wider = append(wider, one); len(wider) > MaxSettings {
					return nil, fmt.Errorf("%w: more than %d", ErrSettings, MaxSettings)
				}
			}
		}
		all = wider
	}
	if known != len(values) {
		return nil, fmt.Errorf("%w: a name that no setting has", ErrSettings)
	}
	return checked(all)
}

func (f field) set(word string) error {
	word = strings.TrimSpace(word)
	if word == "" {
		return nil
	}
	if f.text != nil {
		*f.text = word
		return nil
	}
	x, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%w: %s %q must be a finite number", ErrSettings, f.name, word)
	}
	*f.number = &x
	return nil
}

// ParseSettings parses settings from a JSON array of objects, or from CSV with field names in the header. An
// empty cell keeps the value of the base recipe.
func ParseSettings(data []byte) ([]Setting, error) {
	const most = 1 << 22
	if len(data) > most {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrSettings, most)
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '[' {
		return parseJSON(text)
	}
	return parseCSV(data)
}

func parseJSON(text []byte) ([]Setting, error) {
	var all []Setting
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows the list", ErrSettings)
	}
	return checked(all)
}

func parseCSV(data []byte) ([]Setting, error) {
	in := csv.NewReader(bytes.NewReader(data))
	in.TrimLeadingSpace = true
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: neither a JSON list nor CSV with a header: %w", ErrSettings, err)
	}
	var columns []int
	for _, name := range header {
		at := slices.IndexFunc((&Setting{}).fields(), func(f field) bool { return f.name == strings.TrimSpace(name) })
		if at < 0 {
			return nil, fmt.Errorf("%w: the header has %q, which is not the name of a setting", ErrSettings, name)
		}
		columns = append(columns, at)
	}
	var all []Setting
	for len(all) <= MaxSettings {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSettings, err)
		}
		var s Setting
		for i, cell := range cells {
			if err := s.fields()[columns[i]].set(cell); err != nil {
				return nil, fmt.Errorf("row %d: %w", len(all)+1, err)
			}
		}
		all = append(all, s)
	}
	return checked(all)
}

func checked(all []Setting) ([]Setting, error) {
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("%w: there are none", ErrSettings)
	case len(all) > MaxSettings:
		return nil, fmt.Errorf("%w: more than %d", ErrSettings, MaxSettings)
	}
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.String()] {
			return nil, fmt.Errorf("%w: %s is listed twice", ErrSettings, s)
		}
		seen[s.String()] = true
	}
	return all, nil
}
