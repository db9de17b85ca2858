package bayes_test

import (
	"encoding/json"
	"fmt"
	"log"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/opaque"
	"github.com/pate-go/pate/internal/testkit"
)

func figure(t *testing.T) bayes.Figure {
	a := testkit.Must(bayes.New(bayes.Config{Steps: 10, Delta: 1e-10, Bound: 1}))
	for range 10 {
		require.NoError(t, a.Add(bayes.Step{SamplingProbability: 0.01, Noise: 1}, []float64{0.1, 0.2, 0.3}))
	}
	return a.Figure()
}

func TestAFigureIsNoEpsilon(t *testing.T) {
	f := figure(t)
	for _, verb := range []string{"%v", "%#v", "%s", "%d", "%f", "%x"} {
		require.Equal(t, "opaque", fmt.Sprintf(verb, opaque.Of(4711)))
	}
	for _, hidden := range []reflect.Type{reflect.TypeFor[bayes.Figure](), reflect.TypeFor[*bayes.Figure](), reflect.TypeFor[opaque.Number](), reflect.TypeFor[*bayes.Account]()} {
		for _, to := range []reflect.Type{reflect.TypeFor[float64](), reflect.TypeFor[float32](), reflect.TypeFor[int](), reflect.TypeFor[string](),
			reflect.TypeFor[accountant.Event](), reflect.TypeFor[accountant.Bound](), reflect.TypeFor[accountant.Accountant](),
			reflect.TypeFor[accountant.Repeated](), reflect.TypeFor[accountant.PureDP](), reflect.TypeFor[ledger.Config]()} {
			require.False(t, hidden.ConvertibleTo(to), "%v to %v", hidden, to)
			require.False(t, hidden.AssignableTo(to), "%v to %v", hidden, to)
		}
	}
	typ := reflect.TypeFor[bayes.Figure]()
	for i := range typ.NumField() {
		if field := typ.Field(i); field.IsExported() && field.Type.Kind() == reflect.Float64 {
			require.Contains(t, []string{"Delta", "FailureDelta"}, field.Name)
		}
	}
	for i := range typ.NumMethod() {
		method := typ.Method(i)
		for o := range method.Type.NumOut() {
			if method.Type.Out(o).Kind() == reflect.Float64 {
				require.Equal(t, "ShareOutside", method.Name)
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%g", "%f", "%d"} {
		require.NotRegexp(t, `^[0-9.e+-]+$`, fmt.Sprintf(verb, f), "a figure prints what it is")
		require.NotRegexp(t, `[0-9]`, fmt.Sprintf(verb[:len(verb)-1]+"v", f.Opaque()), "an opaque number prints nothing")
	}
	require.Contains(t, f.String(), "no differential privacy")
	require.Contains(t, f.String(), "private")
}

func TestTheJSONOfAFigureIsNoEpsilon(t *testing.T) {
	f := figure(t)
	data := testkit.Must(json.Marshal(f))
	require.NotContains(t, strings.ToLower(string(data)), `epsilon"`)
	require.Contains(t, string(data), `"private":true`)
	require.Contains(t, string(data), `"differential_privacy":false`)

	var number float64
	require.Error(t, json.Unmarshal(data, &number))
	var row struct {
		Epsilon *float64 `json:"epsilon"`
	}
	require.Error(t, json.Unmarshal(fmt.Appendf(nil, `{"epsilon":%s}`, data), &row), "where a number stands it is refused")
	require.Error(t, testkit.Err(accountant.UnmarshalEvent(data)))
	var schedule accountant.Schedule
	require.Error(t, json.Unmarshal(fmt.Appendf(nil, `{"relation":"add_remove","events":[%s]}`, data), &schedule))
	require.Error(t, testkit.Err(accountant.UnmarshalEvent(fmt.Appendf(nil, `{"type":"pure","epsilon":%s}`, data))))

	var again bayes.Figure
	require.NoError(t, json.Unmarshal(data, &again))
	require.Equal(t, f, again)
	for _, change := range [][2]string{{`"private":true`, `"private":false`}, {`"differential_privacy":false`, `"differential_privacy":true`}, {bayes.Schema, "pate.account/1"}} {
		changed := strings.Replace(string(data), change[0], change[1], 1)
		require.NotEqual(t, string(data), changed)
		require.Error(t, json.Unmarshal([]byte(changed), &again), "a figure that denies what it is")
	}
}

func TestAReportSaysWhatItIs(t *testing.T) {
	report := bayes.Report(figure(t))
	for _, words := range []string{"not differential privacy", "private", "outliers", "confidence", "at least 3 a step", "moments accountant", "exchangeable", "release"} {
		require.Contains(t, report, words)
	}
	require.NotContains(t, report, "ε =")
	require.NotContains(t, bayes.Column, "epsilon")
}

// Twenty steps in which no record of the sample was further than 0.1 from the others, where the clip norm
// allows 1.
func Example() {
	a := testkit.Must(bayes.New(bayes.Config{Steps: 20, Delta: 1e-5, Bound: 1}))
	distances := make([]float64, 500)
	for i := range distances {
		distances[i] = 0.1 * float64(i%5) / 4
	}
	for range 20 {
		if err := a.Add(bayes.Step{SamplingProbability: 0.01, Noise: 1}, distances); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(a.Steps())
	// Output: 20
}
