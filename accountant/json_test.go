package accountant

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// everyEvent is the example of the command line's contract, with all types.
const everyEvent = `{"relation":"add_remove","events":[
  {"type":"repeated","count":10000,"event":{"type":"poisson_sampled","probability":0.01,"event":{"type":"gaussian","noise_multiplier":4}}},
  {"type":"repeated","count":500,"event":{"type":"gnmax","sigma":40}},
  {"type":"lnmax","scale":20},
  {"type":"threshold","sigma":150},
  {"type":"laplace","noise_multiplier":10},
  {"type":"discrete_gaussian","sigma":40,"sensitivity":1},
  {"type":"discrete_laplace","scale":20,"sensitivity":1},
  {"type":"exponential","epsilon":0.1},
  {"type":"pure","epsilon":0.1},
  {"type":"randomized_response","epsilon":1},
  {"type":"m_stab","epsilon":0.5,"threshold":23.03},
  {"type":"above_threshold","epsilon1":0.5,"epsilon2":0.5,"answers":1},
  {"type":"stable_svt","b1":20,"b2":400,"threshold":300,"failures":20},
  {"type":"with_failure","delta":1e-9,"event":{"type":"pure","epsilon":0.1}},
  {"type":"zcdp","rho":0.01},
  {"type":"composed","events":[{"type":"gnmax","sigma":40},{"type":"non_private"}]}
]}`

func TestParseEveryEvent(t *testing.T) {
	s := testkit.Must(ParseSchedule([]byte(everyEvent)))
	assert.Equal(t, AddRemove, s.Relation)
	require.Len(t, s.Events, 16)
	assert.Equal(t, sgd(0.01, 4, 10000), s.Events[0])
	assert.Equal(t, StableSVT{20, 400, 300, 20}, s.Events[12])
	assert.Equal(t, Composed{[]Event{GNMax{Sigma: 40}, NonPrivate{}}}, s.Events[15])
	for _, e := range s.Events { // each can be accounted
		require.NoError(t, newRDP(t, RDPConfig{}).Compose(e, 1))
	}
	data := testkit.Must(json.Marshal(s))
	again := testkit.Must(ParseSchedule(data))
	assert.Equal(t, s, again)
}

func TestStrictJSON(t *testing.T) {
	for name, doc := range map[string]string{
		"unknown type":         `{"type":"shuffled","sigma":1}`,
		"no type":              `{"sigma":1}`,
		"unknown field":        `{"type":"gnmax","sigma":1,"sigma2":1}`,
		"missing field":        `{"type":"gnmax"}`,
		"field twice":          `{"type":"gnmax","sigma":1,"sigma":100}`,
		"wrong case":           `{"type":"gnmax","Sigma":1}`,
		"number as string":     `{"type":"gnmax","sigma":"1"}`,
		"null":                 `{"type":"gnmax","sigma":null}`,
		"not a number":         `{"type":"gnmax","sigma":NaN}`,
		"overflow":             `{"type":"gnmax","sigma":1e999}`,
		"fractional count":     `{"type":"repeated","count":1.5,"event":{"type":"non_private"}}`,
		"huge count":           `{"type":"repeated","count":99999999999999999999,"event":{"type":"non_private"}}`,
		"events not a list":    `{"type":"composed","events":null}`,
		"event null":           `{"type":"repeated","count":1,"event":null}`,
		"trailing text":        `{"type":"non_private"} {}`,
		"not an object":        `[]`,
		"empty":                ``,
		"cut":                  `{"type":"gnmax","sigma":1`,
		"too deep":             strings.Repeat(`{"type":"repeated","count":1,"event":`, 70) + `{"type":"non_private"}` + strings.Repeat("}", 70),
		"too large":            `{"type":"gnmax","sigma":1` + strings.Repeat(" ", maxJSON) + `}`,
		"type is not a string": `{"type":1}`,
	} {
		_, err := UnmarshalEvent([]byte(doc))
		assert.ErrorIs(t, err, ErrBadJSON, name)
	}
	for name, doc := range map[string]string{
		"sigma 0":       `{"type":"gnmax","sigma":0}`,
		"probability 2": `{"type":"poisson_sampled","probability":2,"event":{"type":"gaussian","noise_multiplier":1}}`,
		"delta 1":       `{"type":"with_failure","delta":1,"event":{"type":"non_private"}}`,
		"negative":      `{"type":"repeated","count":-1,"event":{"type":"non_private"}}`,
		"inner":         `{"type":"composed","events":[{"type":"lnmax","scale":-1}]}`,
		"no answers":    `{"type":"above_threshold","epsilon1":1,"epsilon2":1,"answers":0}`,
	} {
		_, err := UnmarshalEvent([]byte(doc))
		assert.ErrorIs(t, err, ErrInvalidEvent, name)
	}
	for name, doc := range map[string]string{
		"no relation":    `{"events":[]}`,
		"other relation": `{"relation":"substitute","events":[]}`,
		"other schema":   `{"schema":"pate.events/2","relation":"add_remove","events":[]}`,
		"no events":      `{"relation":"add_remove"}`,
		"unknown field":  `{"relation":"add_remove","events":[],"delta":1}`,
	} {
		_, err := ParseSchedule([]byte(doc))
		assert.ErrorIs(t, err, ErrBadJSON, name)
	}
}

func FuzzParseSchedule(f *testing.F) {
	f.Add([]byte(everyEvent))
	f.Add([]byte(`{"schema":"pate.events/1","relation":"replace_one","events":[]}`))
	f.Add(testkit.Must(os.ReadFile("testdata/README.md")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSchedule(data)
		if err != nil {
			return
		}
		out := testkit.Must(json.Marshal(s))
		again := testkit.Must(ParseSchedule(out))
		require.Equal(t, s, again)
		for _, e := range s.Events {
			require.NoError(t, Validate(e))
		}
	})
}
