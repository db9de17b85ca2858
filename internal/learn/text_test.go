package learn

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

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
	files, err := texts.ReadDir("text")
	require.NoError(t, err)
	require.Len(t, files, len(Mechanisms())+3, "a text for each mechanism, one that they share, and two chapters without a trace")
	shared, err := readText("shared")
	require.NoError(t, err)
	toldOfShared := make(map[string]bool)
	for _, m := range Mechanisms() {
		own, err := readText(m.Name)
		require.NoError(t, err)
		require.NotEmpty(t, own.title, m.Name)
		require.NotEmpty(t, m.Short, m.Name)
		require.NotEmpty(t, m.Long, m.Name)
		told, given, named := make(map[string]bool), make(map[string]bool), make(map[string]bool)
		for _, inputs := range append([]map[string]string{nil}, branches[m.Name]...) {
			l, err := m.lesson(inputs, Options{Seed: 7, Delta: 1e-5})
			require.NoError(t, err, "%s %v", m.Name, inputs)
			for id := range l.told {
				names(l.text, id, told, named)
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

// names collects the values and the phrases that a phrase names, in all its cases.
func names(all phrases, id string, told, named map[string]bool) {
	told[id] = true
	var walk func(list []phrase)
	walk = func(list []phrase) {
		for _, one := range list {
			if one.value != "" {
				named[one.value] = true
			}
			if one.other != "" {
				names(all, one.other, told, named)
			}
			for _, c := range one.cases {
				if c.value != "" {
					named[c.value] = true
				}
				walk(c.then)
			}
		}
	}
	walk(all[id])
	walk(all[headingOf(id)])
}

// TestTextsThatAreWrong checks that no mistake in a text prints nothing in its place.
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
		"With {{.sigma}.":                         "what does",
		"{{template \"nothing\" .}}":              "nothing",
		"{{range .sigma}}a{{end}}":                "what does",
		"{{if .sigma}}a":                          "no {{end}}",
		"{{if .sigma}}a{{else}}b{{else}}c{{end}}": "no {{end}}",
		"{{if .sigma 20}}a{{end}}":                "what does",
		"a{{end}}":                                "without if",
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
	_, err := parseSections("a", "b")
	require.ErrorContains(t, err, "twice")
	lesson := func(name, section string) (err error) {
		defer Catch(&err)
		newLesson(name, nil, Options{}).step(section)
		return nil
	}
	require.ErrorContains(t, lesson("mean", "clop"), "clop")
	require.ErrorContains(t, lesson("mode", "clip"), "mode.md")
}

// parseSections parses a text of sections that are all called s.
func parseSections(bodies ...string) (phrases, error) {
	var own text
	for _, body := range bodies {
		own.sections = append(own.sections, section{id: "s", heading: "Heading", body: body})
	}
	return parseTexts(own)
}
