package online

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryMechanismAnswers: each mechanism answers clear questions rightly until its cap, and a restart
// answers them again, equally. Odd queries are clear; even ones have no clear answer. With these margins
// another answer has a probability below 1e-12, whatever the seed.
func TestEveryMechanismAnswers(t *testing.T) {
	votes := func(i int, public string) string {
		n := 400 * (i % 2)
		return fmt.Sprintf(`{"query":%d,"votes":{"3":%d,"7":%d}%s}`, i, 10+n, 10, public)
	}
	logprobs := func(i int, _ string) string {
		teacher := [2]string{"[-1,-9]", "[-9,-1]"}[i%2]
		return fmt.Sprintf(`{"query":%d,"list":[3,5],"public":[-1,-9],"logprobs":[%s,%s]}`, i, teacher, teacher)
	}
	for _, c := range []struct {
		name           string
		s              Settings
		line           func(int, string) string
		public         string
		clear, unclear string // start of the reply
	}{
		{"public token", Settings{Mechanism: "screen", Values: map[string]float64{"b1": 2, "b2": 2, "sigma": 2, "threshold": 90, "failures": 1, "epochs": 9}},
			votes, `,"public":3`, `"token":3,"source":"public","left":{"answers":`, `"source":"vote"`},
		{"public token contradicted", Settings{Mechanism: "screen", Values: map[string]float64{"b1": 2, "b2": 2, "sigma": 2, "threshold": 90, "failures": 1, "epochs": 20}},
			votes, `,"public":7`, `"token":3,"source":"vote"`, `"source":"vote"`},
		{"no public token", Settings{Mechanism: "screen", Values: map[string]float64{"b1": 2, "b2": 2, "sigma": 2, "threshold": 90, "failures": 2, "epochs": 9}},
			votes, "", `"token":3,"source":"vote"`, `"source":"vote"`},
		{"limited", Settings{Mechanism: "limited", Values: map[string]float64{"scale": 4, "domain": 1, "margin": 200}},
			votes, "", `"token":3,"source":"vote","left":{"queries":`, `"token":null,"source":"declined"`},
		{"confident", Settings{Mechanism: "confident", Values: map[string]float64{"sigma1": 2, "sigma2": 2, "threshold": 200, "answers": 16}},
			votes, "", `"token":3,"source":"vote"`, `"token":null,"source":"declined"`},
		{"clipped", Settings{Mechanism: "clipped", Values: map[string]float64{"clip": 8, "teachers": 2, "temperature": 0.05}},
			logprobs, "", `"token":5,"source":"vote"`, `"token":3,"source":"vote"`},
	} {
		c.s.Tokens = 100_000
		if c.s.counted() {
			c.s.Queries = 16
		}
		require.NoError(t, c.s.Check(), c.name)
		s := must(c.s).Settings
		path := filepath.Join(t.TempDir(), "journal")
		var lines, first []string
		for i := range 16 {
			lines = append(lines, c.line(i, c.public))
		}
		for start := range 2 {
			e := open(t, path, s)
			said := ask(t, e, s, lines...)
			for i, text := range said {
				require.Contains(t, text, [2]string{c.unclear, c.clear}[i%2], "%s: %s", c.name, lines[i])
				require.Contains(t, text, fmt.Sprintf(`{"query":%d,`, i))
			}
			if start == 0 {
				first = said
			}
			require.Equal(t, first, said, c.name)
			require.NoError(t, e.Stop())
		}
	}
}

var lists = Settings{Mechanism: "clipped", Values: map[string]float64{"clip": 8, "teachers": 2, "temperature": 1}, Queries: 9, Tokens: 10}

func TestRequestsWithLogProbabilities(t *testing.T) {
	f := must(lists)
	for text, want := range map[string]string{
		`"list":[3,5],"logprobs":[[-1,-2],[-1,-2],[-1,-2]]`: "more lists",
		`"list":[3,3],"logprobs":[[-1,-2]]`:                 "twice",
		`"list":[],"logprobs":[]`:                           "empty",
		`"list":[3,5],"logprobs":[[-1]]`:                    "as long as",
		`"list":[3,5],"logprobs":[[-1,NaN]]`:                "number",
		`"list":[3,10],"logprobs":[[-1,-2]]`:                "whole number",
		`"list":[3,5]`:                                      `no "logprobs"`,
		`"list":[3,5],"logprobs":[[-1,-2]],"votes":{}`:      "unknown key",
		`"list":[3,5],"logprobs":[[-1,-2]],"public":[-1]`:   "as long as",
	} {
		_, err := f.Parse([]byte(`{"query":1,` + text + `}`))
		require.ErrorContains(t, err, want, text)
	}
	q, err := f.Parse([]byte(`{"query":1,"list":[3,5],"logprobs":[[-1,-2e0],[0,-1e9]]}`))
	require.NoError(t, err)
	require.Equal(t, []int64{2 * clippedSteps, 7*clippedSteps/8 - clippedSteps}, q.In.Scores, "less each teacher's largest value less clip")
}

func TestOtherLogProbabilitiesAreOtherInputs(t *testing.T) {
	s := must(lists).Settings
	e := open(t, filepath.Join(t.TempDir(), "journal"), s)
	line := `{"query":1,"list":[3,5],"public":[-1,-2],"logprobs":[[-1,-2],[-1,-%d]]}`
	require.Contains(t, ask(t, e, s, fmt.Sprintf(line, 2))[0], `"source":"vote"`)
	require.Contains(t, ask(t, e, s, fmt.Sprintf(line, 3))[0], ErrConflict.Error())
	require.NoError(t, e.Stop())
}
