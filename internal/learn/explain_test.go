package learn

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template/parse"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/template"
	"github.com/pate-go/pate/internal/testkit"
)

func runOf(t require.TestingT, name string, values map[string]string, seed uint64) Trace {
	return testkit.Must(testkit.Must(Find(name)).Run(values, Options{Seed: seed, Delta: 1e-5}))
}

func written(t require.TestingT, trace Trace, f table.Format) string {
	var b bytes.Buffer
	require.NoError(t, trace.Write(&b, f))
	return b.String()
}

// The traces with default inputs, in the formats people paste from. UPDATE_GOLDEN=1 rewrites them.
func TestGolden(t *testing.T) {
	for _, m := range Mechanisms() {
		for _, f := range []table.Format{table.Text, table.Markdown, table.LaTeX} {
			name := filepath.Join("testdata", m.Name+"."+string(f))
			got := written(t, runOf(t, m.Name, nil, 7), f)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
			}
			require.Equal(t, string(testkit.Must(os.ReadFile(name))), got, name)
		}
	}
}

func TestEveryTraceIsComplete(t *testing.T) {
	for _, m := range Mechanisms() {
		for seed := range uint64(2) {
			trace := runOf(t, m.Name, nil, seed)
			require.Equal(t, trace, runOf(t, m.Name, nil, seed), "the same seed gives the same trace")
			requireComplete(t, m.Name, trace)
			for line := range strings.Lines(written(t, trace, table.Text)) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
			}
		}
	}
}

func requireComplete(t require.TestingT, name string, trace Trace) {
	require.Equal(t, name, trace.Mechanism)
	require.False(t, trace.Releasable)
	require.NotEmpty(t, trace.Title)
	require.GreaterOrEqual(t, len(trace.Steps), 3)
	require.NotEmpty(t, trace.Released.Words)
	require.NotEmpty(t, trace.Cost.Numbers)
	require.GreaterOrEqual(t, len(trace.Mistakes), 2)
	for _, s := range trace.Steps {
		require.NotEmpty(t, s.Name)
		require.NotEmpty(t, s.Words, s.Name)
		classes := 0
		for _, n := range s.Numbers {
			require.NotEmpty(t, n.Values, n.Name)
			for _, x := range n.Values {
				require.False(t, math.IsNaN(x) || math.IsInf(x, 0), n.Name)
			}
			if len(n.Values) > 1 {
				require.Contains(t, []int{0, len(n.Values)}, classes, "vectors of a step have one length: %s", n.Name)
				classes = len(n.Values)
			}
		}
	}
	requireBalanced(t, written(t, trace, table.LaTeX))
	var back Trace
	require.NoError(t, json.Unmarshal([]byte(written(t, trace, table.JSON)), &back))
	require.Equal(t, Schema, back.Schema)
	require.Len(t, back.Steps, len(trace.Steps))
	require.True(t, strings.HasPrefix(written(t, trace, table.CSV), "step,number,index,value\n"))
}

// requireBalanced checks what stops a LaTeX run: braces, environments, displays,
// and special characters in running text.
func requireBalanced(t require.TestingT, text string) {
	depth := 0
	for i, r := range text {
		escaped := i > 0 && text[i-1] == '\\'
		switch {
		case r == '{' && !escaped:
			depth++
		case r == '}' && !escaped:
			depth--
		}
		require.GreaterOrEqual(t, depth, 0)
	}
	require.Zero(t, depth)
	require.Equal(t, strings.Count(text, `\begin{`), strings.Count(text, `\end{`))
	require.Equal(t, strings.Count(text, `\[`), strings.Count(text, `\]`))
	pairs := func(side string) int {
		return len(regexp.MustCompile(side+`([(|)\]\[]|\\[lr]floor)`).FindAllString(text, -1))
	}
	require.Equal(t, pairs(`\\left`), pairs(`\\right`))
	require.NotRegexp(t, `[^\\][_^#$%]`, regexp.MustCompile(`(?s)\\\[.*?\\\]`).ReplaceAllString(text, ""))
}

func TestNumbersAgree(t *testing.T) {
	trace := runOf(t, "noisy-argmax", map[string]string{"counts": "30,20", "sigma": "10", "queries": "50"}, 3)
	add := trace.Steps[2]
	for i := range 2 {
		require.Equal(t, add.Numbers[0].Values[i]+add.Numbers[1].Values[i], add.Numbers[2].Values[i])
	}
	noisy := add.Numbers[2].Values
	want := 0.0
	if noisy[1] > noisy[0] {
		want = 1
	}
	require.Equal(t, want, trace.Steps[3].Numbers[0].Values[0])
	law := trace.Steps[4].Numbers
	require.InDelta(t, 1, law[1].Values[0]+law[1].Values[1], 1e-12)
	require.Equal(t, []float64{29, 21}, law[2].Values)
	require.InDelta(t, math.Log(law[1].Values[0]/law[3].Values[0]), law[4].Values[0], 1e-12)
	require.InDelta(t, 0.5*math.Erfc(-10/10/math.Sqrt2/math.Sqrt2), law[1].Values[0], 0.02, "two classes: about Phi(gap/(sigma sqrt 2))")
	require.Contains(t, trace.Steps[4].Words, "gap/(sigma sqrt 2) = 0.707107")
	cost := trace.Cost.Numbers
	require.Equal(t, 0.01, cost[0].Values[0])
	require.InDelta(t, 0.01+2*math.Sqrt(0.01*math.Log(1e5)), cost[2].Values[0], 1e-12)
	require.Less(t, cost[3].Values[0], cost[2].Values[0], "the accountant is tighter than the formula")
	require.InDelta(t, 0.5, cost[4].Values[0], 1e-12)
}

func TestInteractiveOutcomes(t *testing.T) {
	for words, inputs := range map[string]map[string]string{
		"The label, class 1, is its own": {"prediction": "0.05,0.9,0.05", "threshold": "500"},
		"no label":                       {"prediction": "0.3,0.4,0.3", "threshold": "500"},
		"their answer":                   {"threshold": "-500"},
	} {
		require.Contains(t, runOf(t, "interactive", inputs, 1).Released.Words, words)
	}
}

func TestInputsAreChecked(t *testing.T) {
	for _, m := range Mechanisms() {
		for name, bad := range map[string]string{
			"counts": "1,x", "sigma": "0", "sigma1": "NaN", "sigma2": "-1", "queries": "1.5", "answers": "0",
			"threshold": "inf", "prediction": "0.5,0.6,0.2", "confidence": "2", "nothing": "1",
			"values": "1,,2", "moment": "-1", "epsilon": "0", "questions": "0", "shares": "0.5,0.6", "records": "0",
			"blocks": "1e9", "repetitions": "1.5", "runs": "1e7", "probability": "0", "noise": "-1", "steps": "1e7",
			"clip": "nan", "rate": "0", "distances": "3,-1", "failures": "0", "refusal": "2",
		} {
			_, err := m.Run(map[string]string{name: bad}, Options{Delta: 1e-5})
			require.ErrorIs(t, err, ErrInput, "%s %s", m.Name, name)
		}
		for _, counts := range []string{"", "5", "-1,2", "1.5,2", "1e300,1", strings.Repeat("1,", 100) + "1"} {
			_, err := m.Run(map[string]string{"counts": counts}, Options{Delta: 1e-5})
			require.ErrorIs(t, err, ErrInput, "%s %s", m.Name, counts)
		}
		for _, delta := range []float64{0, 1, math.NaN()} {
			require.ErrorIs(t, testkit.Err(m.Run(nil, Options{Delta: delta})), ErrInput)
		}
	}
	require.ErrorContains(t, testkit.Err(Find("magic")), "noisy-argmax, confident, interactive")
}

func TestOrdinaryInputs(t *testing.T) {
	tries := map[string][]string{
		"counts": {"1,0", "0,0", "5,5,5", "1000,3,2,1,1,1", "0,7"}, "sigma": {"0.5", "3", "1000"}, "queries": {"1", "100000"},
		"values": {"0", "0,0,0", "-5,1e4,3", "1,2,3,4,5,6,7,8,9,10"}, "moment": {"0.001", "1e9"}, "epsilon": {"0.01", "0.3", "3", "50"},
		"questions": {"1", "1000"}, "shares": {"1,0", "0.5,0.5"}, "records": {"1", "2", "30"}, "blocks": {"1", "2", "29"}, "repetitions": {"1", "3"},
		"runs": {"1", "3000"}, "probability": {"0.001", "0.3", "1"}, "noise": {"0.5", "0.7", "30"}, "steps": {"1", "5", "1000"},
		"clip": {"0.01", "100"}, "rate": {"0.01", "3"}, "distances": {"0", "0,0,0,0,0,0,0,0", "100,2"}, "failures": {"1", "7"}, "refusal": {"0.001", "0.6"},
		"threshold": {"0", "-4", "1e4"}, "answers": {"1", "3"}, "sigma1": {"1", "500"}, "sigma2": {"1", "500"}, "confidence": {"0.5"},
		"sample": {"2", "900"}, "shape": {"0.5", "5"}, "scale": {"0.001", "3"}, "delta-mu": {"1e-12", "0.01"},
		"prediction": {"0.5,0.5", "0.1,0.2,0.7"},
	}
	draw := rand.New(rand.NewPCG(1, 2))
	for _, m := range Mechanisms() {
		for try := range 5 {
			values := make(map[string]string)
			for _, in := range m.Inputs {
				require.Contains(t, tries, in.Name)
				if few := tries[in.Name]; draw.IntN(2) == 0 {
					values[in.Name] = few[draw.IntN(len(few))]
				}
			}
			trace, err := m.Run(values, Options{Seed: draw.Uint64(), Delta: []float64{1e-12, 1e-6, 1e-3, 0.1, 0.6}[try]})
			if err != nil {
				require.ErrorIs(t, err, ErrInput)
				continue
			}
			requireComplete(t, m.Name, trace)
		}
	}
}

// branches are inputs that reach the sections, and the cases inside them, that the
// default inputs with seed 7 leave out.
var branches = map[string][]map[string]string{
	"noisy-argmax": {{"counts": "30,20"}},
	"confident":    {{"threshold": "500"}},
	"interactive": {
		{"threshold": "-500"},
		{"prediction": "0.05,0.9,0.05", "threshold": "500"},
		{"prediction": "0.3,0.4,0.3", "threshold": "500"},
	},
	"stability":           {{"counts": "5,5"}},
	"subsample-aggregate": {{"shares": "0.5,0.5", "repetitions": "3"}},
	"dpsgd":               {{"probability": "0.001"}},
}

// TestTexts checks that every text has a mechanism, that every section of it is told, and that it names the
// values which Go gives: all of them, and no other, in the cases that a run does not reach too.
func TestTexts(t *testing.T) {
	files := testkit.Must(texts.ReadDir("text"))
	require.Len(t, files, len(Mechanisms())+4, "a text for each mechanism, one that they share, two chapters without a trace, and the inputs")
	shared := testkit.Must(readText("shared"))
	toldOfShared := make(map[string]bool)
	for _, m := range Mechanisms() {
		own := testkit.Must(readText(m.Name))
		require.NotEmpty(t, own.title, m.Name)
		require.NotEmpty(t, m.Short, m.Name)
		require.NotEmpty(t, m.Long, m.Name)
		told, given, named := make(map[string]bool), make(map[string]bool), make(map[string]bool)
		trees := make(map[string]*parse.Tree)
		for _, s := range slices.Concat(shared.sections, own.sections) {
			for name, body := range map[string]string{s.id: s.body, headingOf(s.id): s.heading} {
				trees[name] = testkit.Must(parse.Parse(name, body, "", "", map[string]any{"eq": 0}))[name]
			}
		}
		for _, inputs := range append([]map[string]string{nil}, branches[m.Name]...) {
			l, err := m.lesson(inputs, Options{Seed: 7, Delta: 1e-5})
			require.NoError(t, err, "%s %v", m.Name, inputs)
			for id := range l.told {
				names(trees, id, told, named)
			}
			for name := range l.values {
				given[name] = true
			}
			for name := range named {
				require.Contains(t, l.values, name, "%s: {{.%s}} is no value of its text", m.Name, name)
			}
		}
		for _, in := range m.Inputs {
			delete(given, in.Name) // all inputs are given
			delete(named, in.Name)
		}
		delete(given, "teachers") // given with every histogram
		delete(given, "sigma")    // given with every test
		for name := range given {
			require.Contains(t, named, name, "%s: nothing is made of the value", m.Name)
		}
		for _, s := range own.sections {
			require.Contains(t, told, s.id, "%s: never told", m.Name)
			delete(told, s.id)
		}
		maps.Copy(toldOfShared, told)
	}
	for _, s := range shared.sections {
		require.Contains(t, toldOfShared, s.id, "never told")
	}
}

func names(all map[string]*parse.Tree, id string, told, named map[string]bool) {
	told[id] = true
	var walk func(node parse.Node)
	branch := func(b *parse.BranchNode) {
		walk(b.Pipe)
		walk(b.List)
		walk(b.ElseList)
	}
	walk = func(node parse.Node) {
		switch n := node.(type) {
		case *parse.ListNode:
			for i := 0; n != nil && i < len(n.Nodes); i++ {
				walk(n.Nodes[i])
			}
		case *parse.ActionNode:
			walk(n.Pipe)
		case *parse.PipeNode:
			for _, arg := range n.Cmds[0].Args {
				walk(arg)
			}
		case *parse.FieldNode:
			named[n.Ident[0]] = true
		case *parse.TemplateNode:
			names(all, n.Name, told, named)
		case *parse.IfNode:
			branch(&n.BranchNode)
		}
	}
	walk(all[id].Root)
	walk(all[headingOf(id)].Root)
}

func TestTextsThatAreWrong(t *testing.T) {
	tell := func(body string) (err error) {
		defer Catch(&err)
		l := &lesson{text: Must(parseSections(body)), values: map[string]any{"sigma": "20"}, told: make(map[string]bool)}
		l.step("s")
		return nil
	}
	require.NoError(t, tell("With {{.sigma}}.\n\n    a\n    b\n\n$$a$$"))
	for body, says := range map[string]string{
		"With {{.sigam}}.":                        "sigam",
		"{{if .sigam}}a{{end}}b":                  "sigam",
		"With {{.sigma}.":                         "bad character",
		"{{template \"nothing\" .}}":              "nothing",
		"{{if .sigma}}a":                          "unexpected EOF",
		"{{if .sigma}}a{{else}}b{{else}}c{{end}}": "expected end",
		"{{if .sigma 20}}a{{end}}":                "not supported",
		"a{{end}}":                                "unexpected {{end}}",
		"":                                        "empty",
		"One.\n\nTwo.":                            "one paragraph",
		"One.\n\n    a\n\n$$a$$\n\nTwo.":          "one paragraph",
		"One.\n\n    a":                           "both forms",
		"One.\n\n$$a$$":                           "both forms",
		"    a\n\n$$a$$":                          "words",
		"One.\n\n    a\n\n$$a$$\n$$b$$":           "both forms",
		"{{if eq .sigma 20}}{{else}}a{{end}}":     "words",
	} {
		require.ErrorContains(t, tell(body), says, body)
	}
	require.ErrorContains(t, testkit.Err(parseSections("a", "b")), "twice")
	lesson := func(name, section string) (err error) {
		defer Catch(&err)
		newLesson(name, nil, Options{}).step(section)
		return nil
	}
	require.ErrorContains(t, lesson("mean", "clop"), "clop")
	require.ErrorContains(t, lesson("mode", "clip"), "mode.md")
}

func parseSections(bodies ...string) (*template.Template, error) {
	var own text
	for _, body := range bodies {
		own.sections = append(own.sections, section{id: "s", heading: "Heading", body: body})
	}
	return parseTexts(own)
}
