package learn

// Trace is one run of a mechanism, told.
type Trace struct {
	Schema     string    `json:"schema"`
	Mechanism  string    `json:"mechanism"`
	Title      string    `json:"title"`
	Seed       uint64    `json:"seed"`
	Releasable bool      `json:"releasable"` // always false: it shows votes and noise
	Steps      []Step    `json:"steps"`
	Released   Section   `json:"released"` // what leaves, and what does not
	Cost       Section   `json:"cost"`
	Mistakes   []Mistake `json:"mistakes"` // what would go wrong if...
}

// Schema names the JSON form of a Trace.
const Schema = "pate.explain/1"

// Step is one thing the mechanism does.
type Step struct {
	Name    string   `json:"name"` // an imperative: draw the noise
	Words   string   `json:"words"`
	Formula *Formula `json:"formula,omitempty"`
	Numbers []Number `json:"numbers,omitempty"`
	Index   string   `json:"index,omitempty"` // what the vectors run over; empty means classes
}

// Section is a closing part of a Trace.
type Section struct {
	Words   string   `json:"words"`
	Formula *Formula `json:"formula,omitempty"`
	Numbers []Number `json:"numbers,omitempty"`
	Index   string   `json:"index,omitempty"` // as in a Step
}

// Mistake is a misconception, followed to its end.
type Mistake struct {
	If      string   `json:"if"` // completes "What would go wrong if ..."
	Words   string   `json:"words"`
	Numbers []Number `json:"numbers,omitempty"`
}

// Formula is mathematics in plain text and in TeX.
type Formula struct {
	Text string `json:"text"`
	TeX  string `json:"tex"`
}

// Number is a named scalar, or a vector with one value for each class, or as Index names it. The vectors of a
// step have the same length and stand side by side.
type Number struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`

	claim bool // printed rounded up
}

// claim names an epsilon, which is never printed smaller than it is.
func claim(name string, epsilon float64) Number {
	return Number{Name: name, Values: []float64{epsilon}, claim: true}
}

func scalar[T int | int64 | float64](name string, x T) Number {
	return Number{Name: name, Values: []float64{float64(x)}}
}

func vector[T int | int64 | float64](name string, xs []T) Number {
	n := Number{Name: name}
	for _, x := range xs {
		n.Values = append(n.Values, float64(x))
	}
	return n
}

// addRow adds a value to each column.
func addRow(columns []Number, values ...float64) {
	for i, x := range values {
		columns[i].Values = append(columns[i].Values, x)
	}
}
