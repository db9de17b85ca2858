package accountant

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/pate-go/pate/internal/mathx"
)

// Properties holds the guarantees of one run of a mechanism, without the Rényi curve.
type Properties struct {
	// Relation is the only relation for which the event is defined, or 0 for any relation.
	Relation Relation
	// Guaranteed means that one run is (Epsilon, Delta)-private.
	Guaranteed     bool
	Epsilon, Delta float64
	// NoiseMultiplier is the noise of a Gaussian event that dominates the mechanism, or 0 if none is known.
	NoiseMultiplier float64
	// Rho is the zCDP parameter, rounded up, or NaN if there is none.
	// Rho is valid except with probability Delta.
	Rho float64
	// Twice is an event or nil. The mechanism costs at most as much as two adaptive runs of Twice.
	Twice Event
}

type (
	guaranteed interface{ guarantee() (guarantee, bool) }
	// rho returns the zCDP parameter, rounded up. For events without this method, PropertiesOf derives Rho
	// from Epsilon.
	concentrated interface{ rho() float64 }
	related      interface{ relation() Relation }
	twofold      interface{ noisyCount() Event }
)

// PropertiesOf returns the properties of one run of a valid event.
func PropertiesOf(e Event) Properties {
	one, ok := guaranteeOf(e)
	p := Properties{Relation: relationOf(e), Guaranteed: ok, Epsilon: one.epsilon, Delta: one.delta, Rho: math.NaN()}
	if leaf, known := e.(concentrated); known {
		p.Rho = leaf.rho()
	} else if ok { // the failures already contain the delta of a leaf
		p.Rho = pureRho(one.epsilon)
	}
	if votes, ok := e.(twofold); ok {
		p.Twice = votes.noisyCount()
	}
	if noise, _ := sampledAs(e); noise != nil {
		if gaussian, ok := noise.(Gaussian); ok {
			p.NoiseMultiplier = gaussian.NoiseMultiplier
		}
	}
	return p
}

type guarantee struct{ epsilon, delta float64 }

func guaranteeOf(e Event) (guarantee, bool) {
	if leaf, ok := e.(guaranteed); ok {
		return leaf.guarantee()
	}
	return guarantee{}, false
}

func relationOf(e Event) Relation {
	if only, ok := e.(related); ok {
		return only.relation()
	}
	return 0
}

func guaranteeAnywhere(e Event) (guarantee, bool) {
	if relationOf(e) != 0 {
		return guarantee{}, false
	}
	return guaranteeOf(e)
}

func gaussianRho(ratio float64) float64 { return atLeastTiny(ratio * ratio / 2 * (1 + 1e-15)) }

// pureRho returns the zCDP parameter rho of a pure eps-DP mechanism, rounded up (Steinke 2024).
func pureRho(eps float64) float64 {
	if math.IsInf(eps, 1) {
		return eps
	}
	return eps * math.Tanh(eps/2) * (1 + 1e-15)
}

func downBy(noise, g float64) float64 {
	return math.Max(mathx.Down(noise/g), math.SmallestNonzeroFloat64)
}

// Part is one kind of release within an event, described in words.
type Part struct {
	Mechanism  string `json:"mechanism"`  // in words
	Parameters string `json:"parameters"` // in symbols
	Count      int64  `json:"count"`      // number of runs
}

type printer struct{ number, claim func(x float64) string }

// Describe splits an event into its mechanisms and describes each mechanism in words. The function number
// formats a parameter. The function claim must format a value of a guarantee and round it up.
func Describe(e Event, number, claim func(x float64) string) []Part {
	return describe(e, printer{number, claim})
}

func describe(e Event, p printer) (parts []Part) {
	inside := children(e)
	for _, inner := range inside {
		parts = append(parts, describe(inner, p)...)
	}
	own := Part{e.row().mechanism, p.parameters(e), 1}
	switch e := e.(type) {
	case Composed:
	case Repeated:
		for i := range parts {
			n, err := mul(parts[i].Count, e.Count)
			if err != nil {
				n = math.MaxInt64 // beyond every budget
			}
			parts[i].Count = n
		}
	default:
		if len(parts) == 0 && len(inside) == 0 {
			return []Part{own}
		}
		for i := range parts {
			parts[i].Mechanism += ", " + own.Mechanism
			parts[i].Parameters = strings.TrimPrefix(parts[i].Parameters+", "+own.Parameters, ", ")
		}
	}
	return parts
}

func (p printer) parameters(e Event) string {
	var words []string
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		key, _ := fieldKey(v.Type().Field(i))
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			words = append(words, "{"+key+"}", p.number(f.Float()), "{^"+key+"}", p.claim(f.Float()))
		case reflect.Int64:
			words = append(words, "{"+key+"}", strconv.FormatInt(f.Int(), 10))
		case reflect.Bool:
			words = append(words, "{"+key+"}", map[bool]string{true: key + " "}[f.Bool()])
		}
	}
	return strings.NewReplacer(words...).Replace(e.row().parameters)
}
