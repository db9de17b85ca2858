package accountant

import (
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Part is one kind of release within an event, in words.
type Part struct {
	Mechanism  string `json:"mechanism"`  // in words
	Parameters string `json:"parameters"` // in symbols
	Count      int64  `json:"count"`      // how often it runs
}

// printer shows the numbers of words: parameters, and parts of a claim, which are rounded up.
type printer struct{ number, claim func(x float64) string }

// Describe takes an event apart into the mechanisms that it runs, in words. The functions print numbers:
// number a parameter, claim a part of a claim, which has to be rounded up.
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

// parameters returns the parameters of an event in words.
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
