package report

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/testkit"
)

func sample() *experiments.Result {
	two, sd := 2.0, 0.003
	return &experiments.Result{
		Schema: experiments.Schema, Data: "<digits> & co", Split: "literature", Private: 60000, Pool: 9000, Test: 1000, Classes: 10,
		Features: "hog", Dimensions: 2304, Teachers: 250, Learner: "kernel-ridge", EpsilonTarget: 2, Delta: 1e-5,
		Relation: "add_remove", Unit: "record", Seeds: 3, EpsilonAll: 3.1,
		Rows: []experiments.Row{
			{Method: experiments.ConfidentGNMax, Epsilon: &two, Accuracy: 0.985, SD: &sd, Answered: 250, Asked: 300, LabelAccuracy: 0.99,
				Sigma: 40, Threshold: 150, SigmaThreshold: 80,
				Account: &accountant.Schedule{Relation: accountant.AddRemove, Events: []accountant.Event{accountant.GNMax{Sigma: 40}}},
				Charged: []experiments.Charge{{Event: "threshold test, σ 80", Count: 300, Share: 0.2}, {Event: "noisy argmax, σ 40", Count: 250, Share: 0.8}},
				Curve:   []experiments.Point{{Epsilon: 1, Accuracy: 0.9}, {Epsilon: 2, Accuracy: 0.985}}},
			{Method: experiments.DPSGD, Epsilon: &two, Accuracy: 0.98, Steps: 200, NoiseMultiplier: 4},
			{Method: experiments.NonPrivate, Accuracy: 0.99},
		},
		Diagnostics: &experiments.Diagnostics{Private: true, TeacherAccuracy: 0.93, MeanGap: 220, Gaps: []int{1, 0, 5, 20}, GapWidth: 10},
	}
}

func TestWriteMakesAReportThatNeedsNothingElse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Write(dir, sample(), "pate compare --seed 1"))
	results := filepath.Join(dir, "private", "results") // a row protects nothing
	page := string(testkit.Must(os.ReadFile(filepath.Join(results, "report.html"))))
	require.Contains(t, page, "&lt;digits&gt; &amp; co")
	require.NotContains(t, page, "<digits>")
	require.Contains(t, page, "For the owner of the data")
	require.Contains(t, page, "Not for release")
	require.Contains(t, page, "pate compare --seed 1")
	require.Equal(t, 1, strings.Count(page, "<svg"), "the gap histogram; what else is drawn has the colours of the page")
	for _, loads := range []string{`src=`, `href="http`, `url(`, `<script`, `<link`, `@import`} {
		require.NotContains(t, page, loads)
	}
	require.Less(t, strings.Index(page, "What was charged"), strings.Index(page, "Not for release"))
	require.Greater(t, strings.LastIndex(page, "<svg"), strings.Index(page, "Not for release"), "the gap histogram stands in the private part")

	for _, name := range []string{"accuracy", "vote-gaps"} {
		testkit.WellFormed(t, testkit.Must(os.ReadFile(filepath.Join(results, name+".svg"))), name)
	}
	var back map[string]any
	require.NoError(t, json.Unmarshal(testkit.Must(os.ReadFile(filepath.Join(results, "results.json"))), &back))
	require.Equal(t, "pate.compare/1", back["schema"])
	account := testkit.Must(os.ReadFile(filepath.Join(dir, "public", "accounts", "pate-confident-gnmax.json")))
	schedule := testkit.Must(accountant.ParseSchedule(account))
	require.Equal(t, []accountant.Event{accountant.GNMax{Sigma: 40}}, schedule.Events)

	require.Equal(t, sample(), testkit.Must(Read(dir)))
	require.NoError(t, os.WriteFile(filepath.Join(results, "results.json"), []byte(`{"schema":"pate.label/1"}`), 0o600))
	require.ErrorContains(t, testkit.Err(Read(dir)), "pate.label/1")
}

func TestTextFitsATerminalOf80Columns(t *testing.T) {
	r := sample()
	fits := func() string {
		var b strings.Builder
		b.WriteString(Heading(r))
		require.NoError(t, Table(r).Write(&b, table.Text))
		for _, line := range strings.Split(b.String(), "\n") {
			require.LessOrEqual(t, len([]rune(line)), 80, line)
		}
		return b.String()
	}
	require.Regexp(t, `pate/confident-gnmax +2\.0000 +98\.50 +0\.30 +250/300 +99\.0`, fits())
	require.Regexp(t, `non-private +none`, fits())
	for i := range r.Rows {
		r.Rows[i].ConstantAccuracy, r.Rows[i].BalancedAccuracy, r.Rows[i].Seconds = 0.6842, 0.25, 99
	}
	require.Regexp(t, `pate/confident-gnmax +2\.0000 +98\.50 +68\.42 +25\.00 +0\.30 +250/300 +99\.0`, fits())
	require.NotContains(t, fits(), "names one class")
	r.Rows[0].OneClassRuns, r.Rows[1].OneClassRuns, r.Rows[1].Runs = 1, 2, []float64{0.98, 0.98, 0.98}
	var b strings.Builder
	require.NoError(t, Table(r).Write(&b, table.LaTeX))
	require.Contains(t, b.String(), "names one class only ")
	require.Contains(t, b.String(), "names one class only in 2 of 3 runs")
	require.NotContains(t, b.String(), "×")
	r = sample()

	area := 0.87654
	for i := range r.Rows {
		r.Rows[i].SD, r.Rows[i].AUROC = nil, &area
	}
	require.Regexp(t, `pate/confident-gnmax +2\.0000 +98\.50 +87\.65 +250/300`, fits())
}

func TestASampleOfTestRowsIsNamed(t *testing.T) {
	r := sample()
	require.Contains(t, Footnotes(r), "1000 test rows: ")
	r.TestOf = 5000
	require.Contains(t, Footnotes(r), "1000 test rows, a fixed random part of 5000: ")
}

func TestRecordsKeepFullPrecision(t *testing.T) {
	r := sample()
	e := 1.9999999973183933
	r.Rows[0].Epsilon = &e
	var b strings.Builder
	require.NoError(t, Records(r).Write(&b, table.CSV))
	require.Contains(t, b.String(), "1.9999999973183933")
	b.Reset()
	r.Rows = []experiments.Row{{Method: "pate/gnmax", Epsilon: &e, Accuracy: 0.958}}
	require.NoError(t, Table(r).Write(&b, table.CSV))
	require.Equal(t, "method,ε,test,labels,right,noise\npate/gnmax,2.0000,95.80,,,\n", b.String())
}

func TestClaimsReadNoLessThanTheyAre(t *testing.T) {
	above := math.Nextafter(0.0265, 1)
	require.Equal(t, "0.0266", epsilonCell(experiments.Row{Epsilon: &above}))
}

func eachFile(t *testing.T, dir string, look func(path, text string, mode os.FileMode)) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if require.NoError(t, err); !e.IsDir() {
			look(path, string(testkit.Must(os.ReadFile(path))), testkit.Must(e.Info()).Mode().Perm())
		}
		return nil
	}))
}

func TestPublishedFilesTellNoTimes(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	r.Diagnostics, r.Rows, r.Releasable = nil, r.Rows[:2], true
	r.Seconds, r.Rows[0].Seconds, r.Rows[1].Seconds = 31337, 31337, 31337
	require.NoError(t, Write(dir, r, "pate compare"))
	require.Equal(t, 31337.0, r.Seconds, "what is printed keeps them")
	eachFile(t, dir, func(path, text string, mode os.FileMode) {
		if filepath.Base(filepath.Dir(path)) == "private" {
			require.Equal(t, os.FileMode(0o600), mode)
			return
		}
		require.Equal(t, os.FileMode(0o644), mode)
		require.NotContains(t, text, "31337", path)
		require.NotContains(t, text, `"seconds"`, path)
	})
	require.Equal(t, r, testkit.Must(Read(dir)))
}

func TestFilesOfASeededRunAreMarked(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	r.Diagnostics, r.Seeded, r.Seconds = nil, true, 1
	require.NoError(t, Write(dir, r, "pate compare --seed 1"))
	mark := regexp.MustCompile(`(?i)not releasable|"releasable": false|,false\n`)
	marked := 0
	eachFile(t, dir, func(path, text string, mode os.FileMode) {
		require.Equal(t, os.FileMode(0o600), mode, path)
		switch {
		case filepath.Base(filepath.Dir(path)) == "private":
		case strings.HasPrefix(filepath.Base(path), "seeded-"):
			marked++
		default:
			require.Regexp(t, mark, text, path)
			marked++
		}
	})
	require.GreaterOrEqual(t, marked, 5)
}

// TestFarRowsDoNotPressTheOthers: the most frequent class is no part of the picture where it lies below all
// that protects, and is where it does not.
func TestFarRowsDoNotPressTheOthers(t *testing.T) {
	epsilon := 2.0
	drawn := func(majority ...experiments.Row) []byte {
		r := &experiments.Result{EpsilonTarget: epsilon, Delta: 1e-5, Rows: append([]experiments.Row{
			{Method: experiments.GNMax, Epsilon: &epsilon, Accuracy: 0.97}, {Method: experiments.NonPrivate, Accuracy: 0.99}}, majority...)}
		return accuracyFigure(r, "").SVG()
	}
	require.Equal(t, drawn(), drawn(experiments.Row{Method: experiments.Majority, Accuracy: 0.1}))
	require.NotEqual(t, drawn(), drawn(experiments.Row{Method: experiments.Majority, Accuracy: 0.98}))
}

func TestUseNamesOneMethodForEachTarget(t *testing.T) {
	r := sweep()
	r.Rows[2].Accuracy = 0.91 // of GNMax at ε 2
	require.Equal(t, "Use dpsgd/linear at ε 0.5 to 2 (best beyond chance at 1 of these 2, within chance of the best elsewhere).",
		use(advise(r)), "one that comes out first by chance does not change it")
	r.Differences[1].Better = experiments.GNMax
	require.Equal(t, "Use dpsgd/linear at ε 0.5 (best beyond chance); pate/gnmax at ε 2 (best beyond chance).", use(advise(r)))
	r.Rows = r.Rows[1:2]
	r.Differences = nil
	require.Equal(t, "Use dpsgd/linear at ε 0.5 (no other private method was run).", use(advise(r)))
	r.Rows = nil
	require.Empty(t, advise(r))
	require.Equal(t, "Use pate/confident-gnmax at ε 2 (as good as any, within chance).", use([]advice{{Epsilon: 2, Row: experiments.Row{Method: experiments.ConfidentGNMax}, Ties: []string{"x"}}}))
}

// The whole curve tells less than ε and δ, and one Gaussian release is known in closed form.
func TestRiskIsThatOfWhatWasCharged(t *testing.T) {
	epsilon, delta := 2.0, 1e-5
	row := experiments.Row{Epsilon: &epsilon}
	point := riskOf(row, delta)
	require.Equal(t, risk{statement.Right(2, delta), statement.TPR(2, delta, 0.01)}, point)
	row.Account = &accountant.Schedule{Relation: accountant.AddRemove, Events: []accountant.Event{accountant.Gaussian{NoiseMultiplier: 2}}}
	curve := riskOf(row, delta)
	require.InDelta(t, 0.59871, curve.Right, 1e-5, "normal(1/(2 sigma))")
	require.InDelta(t, 0.033907, curve.Found, 1e-5, "normal(normal^-1(0.01) + 1/sigma)")
	require.Less(t, curve.Found, point.Found)
	row.Account.Events = append(row.Account.Events, accountant.NonPrivate{})
	require.Equal(t, point, riskOf(row, delta), "no more than epsilon and delta allow")
}

func TestAWaterfallAddsUpAndShowsGains(t *testing.T) {
	r := sample()
	require.Empty(t, waterfalls(r), "without the vote without noise")
	r.Rows = append(r.Rows, experiments.Row{Method: experiments.Plurality, Accuracy: 0.95}, experiments.Row{Method: experiments.TrueLabels, Accuracy: 0.987})
	falls := waterfalls(r)
	require.Len(t, falls, 1)
	var values, kinds []string
	for _, s := range falls[0].Steps {
		values, kinds = append(values, s.Value), append(kinds, s.Kind)
		require.GreaterOrEqual(t, s.Left, 0.0)
		require.LessOrEqual(t, s.Left+s.Width, 100+1e-9)
	}
	require.Equal(t, []string{"99.0", "−4.0", "+4.0", "−0.5", "98.5"}, values)
	require.Equal(t, []string{"level", "loss", "gain", "loss", "level"}, kinds)
	require.Equal(t, "98.7", falls[0].Known)
}

func TestClassTables(t *testing.T) {
	r := sample()
	require.Empty(t, classTables(r), "results of earlier versions")
	r.ClassNames, r.ClassRows = []string{"cat", "dog", "none"}, []int{3, 1, 0}
	r.Rows[0].Recall = []float64{1, 0.5, 0}
	tables := classTables(r)
	require.Len(t, tables, 1)
	require.Equal(t, []string{experiments.ConfidentGNMax}, tables[0].Methods)
	require.Equal(t, []classCell{{Text: "50.0", Width: 50, Worst: true}}, tables[0].Rows[1].Cells)
	require.Equal(t, []classCell{{Text: "–"}}, tables[0].Rows[2].Cells)
}

// TestRegimeOfTheDocs: docs/regime.svg is what the committed results give. UPDATE_GOLDEN=1 draws it again.
func TestRegimeOfTheDocs(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	var results []*experiments.Result
	for _, file := range testkit.Must(filepath.Glob(filepath.Join(docs, "results", "*.json"))) {
		var r experiments.Result
		testkit.ReadJSON(t, file, &r)
		require.Positive(t, len(r.EpsilonTargets))
		results = append(results, &r)
	}
	svg := regime(results)
	testkit.WellFormed(t, svg)
	name := filepath.Join(docs, "regime.svg")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(name, svg, 0o644))
	}
	drawn := testkit.Must(os.ReadFile(name))
	require.Equal(t, string(drawn), string(svg), "UPDATE_GOLDEN=1 go test ./experiments/report -run Regime")
	require.NotEqual(t, string(drawn), string(regime(results[1:])))
}

// regime draws, for each sweep, the lead of DP-SGD over the better vote of teachers against epsilon, with
// the 95 % interval of the difference: an SVG that stands alone, in light and dark. Below zero the vote is
// ahead.
func regime(results []*experiments.Result) []byte {
	low, high := math.Inf(1), 0.0
	c := figure.Figure{Title: "Points of accuracy by which DP-SGD is ahead of the better vote, against epsilon", Zero: true,
		X: figure.Axis{Label: "ε", Log: true}}
	for i, r := range results {
		l := figure.Line{Name: strings.TrimSuffix(r.Data, ".csv"), Colour: i, Dots: true}
		for _, e := range r.EpsilonTargets {
			vote := ""
			best := -1.0
			for _, row := range r.Rows {
				if row.ByTeachers() && row.TargetEpsilon == e && row.Accuracy > best {
					vote, best = row.Method, row.Accuracy
				}
			}
			for _, d := range r.Differences {
				if d.A == vote && d.B == experiments.DPSGD {
					d.A, d.B, d.Mean, d.Low, d.High = d.B, d.A, -d.Mean, -d.High, -d.Low
				}
				if d.TargetEpsilon != e || d.A != experiments.DPSGD || d.B != vote {
					continue
				}
				// lines of several data sets at one epsilon stand beside each other
				x := e * math.Pow(1.045, float64(i)-float64(len(results)-1)/2)
				low, high = min(low, x), max(high, x)
				l.Points = append(l.Points, figure.Point{X: x, Y: 100 * d.Mean, Low: 100 * d.Low, High: 100 * d.High})
			}
			if !slices.Contains(c.X.Ticks, e) {
				c.X.Ticks = append(c.X.Ticks, e)
			}
		}
		if len(l.Points) > 0 {
			c.Lines = append(c.Lines, l)
		}
	}
	slices.Sort(c.X.Ticks)
	c.X.Low, c.X.High = low, high
	return c.SVG()
}

func sweep() *experiments.Result {
	r := sample()
	r.EpsilonTarget, r.EpsilonTargets = 0.5, []float64{0.5, 2}
	r.Rows = nil
	for i, e := range r.EpsilonTargets {
		sd := 0.004
		r.Rows = append(r.Rows,
			experiments.Row{Method: experiments.GNMax, TargetEpsilon: e, Epsilon: &e, Accuracy: 0.8 + 0.1*float64(i), SD: &sd, Runs: []float64{0.8, 0.81}, StandardError: 0.003,
				Charged: []experiments.Charge{{Event: "noisy argmax", Count: 9, Share: 1}}},
			experiments.Row{Method: experiments.DPSGD, TargetEpsilon: e, Epsilon: &e, Accuracy: 0.9, StandardError: 0.003})
	}
	r.Rows = append(r.Rows, experiments.Row{Method: experiments.NonPrivate, Accuracy: 0.95})
	r.Differences = []experiments.Difference{
		{TargetEpsilon: 0.5, A: experiments.GNMax, B: experiments.DPSGD, Mean: -0.1, Low: -0.11, High: -0.09, Better: experiments.DPSGD},
		{TargetEpsilon: 2, A: experiments.GNMax, B: experiments.DPSGD, Low: -0.01, High: 0.01},
	}
	return r
}

func TestASweepSaysWhoWonAndDrawsEveryMethodOnce(t *testing.T) {
	r, dir := sweep(), t.TempDir()
	require.NoError(t, Write(dir, r, "pate compare --epsilon 0.5,2"))
	page := string(testkit.Must(os.ReadFile(filepath.Join(dir, "private", "results", "report.html"))))
	said := strings.Index(page, "Best beyond chance: dpsgd/linear at ε 0.5. Best, and not to be told apart: dpsgd/linear, pate/gnmax at ε 2.")
	require.Positive(t, said)
	require.Less(t, said, strings.Index(page, "<svg"))
	require.Less(t, strings.Index(page, "<svg"), strings.Index(page, "<table"), "the picture first")
	svg := testkit.Must(os.ReadFile(filepath.Join(dir, "private", "results", "accuracy.svg")))
	for _, name := range []string{experiments.GNMax, experiments.DPSGD, experiments.NonPrivate} {
		require.Equal(t, 1, strings.Count(string(svg), name+"<"), "a name at the end of its line")
	}
}

func TestVerdicts(t *testing.T) {
	r, e := sample(), 2.0
	r.Rows, r.Differences = nil, nil
	names := []string{"a", "b", "c", "d"}
	differ := map[string]bool{"ac": true, "ad": true, "bd": true}
	for i, a := range names {
		r.Rows = append(r.Rows, experiments.Row{Method: a, Epsilon: &e, Accuracy: 0.9 - 0.1*float64(i)})
		for _, b := range names[i+1:] {
			d := experiments.Difference{TargetEpsilon: 2, A: a, B: b}
			if differ[a+b] {
				d.Better = a
			}
			r.Differences = append(r.Differences, d)
		}
	}
	require.Equal(t, "Cannot be told apart: a, b; b, c; c, d.\n"+Test+"\n", Verdicts(r))
	r.Differences[0].Balanced = &scores.Interval{Mean: 0.2, Low: 0.1, High: 0.3}
	require.Equal(t, "Cannot be told apart: b, c; c, d.\n"+Test+"\n", Verdicts(r), "equal accuracy, another balanced accuracy")
	for i := range r.Differences {
		r.Differences[i].Better = r.Differences[i].A
	}
	require.Equal(t, "All methods differ beyond chance.\n"+Test+"\n", Verdicts(r))
	r.Differences = nil
	require.Empty(t, Verdicts(r))
	require.Contains(t, Verdicts(sweep()), "At ε 0.5: All methods differ beyond chance.\nAt ε 2: Cannot be told apart: pate/gnmax, dpsgd/linear.\n")
}

func TestAConstantDoesNotLead(t *testing.T) {
	r := sweep()
	r.Rows[1].OneClassRuns, r.Differences[0].Better = 1, ""
	r.Differences[0].Balanced = &scores.Interval{Mean: 0.2, Low: 0.1, High: 0.3}
	require.Equal(t, "pate/gnmax", advise(r)[0].Row.Method)
	require.Empty(t, advise(r)[0].Ties)
}

func TestNotesHaveTheirEpsilon(t *testing.T) {
	r := sweep()
	for i := range r.Rows {
		r.Rows[i].Note = "the same"
	}
	r.Rows[2].Note = "another"
	require.Equal(t, "pate/gnmax at ε 0.5: the same.\ndpsgd/linear: the same.\npate/gnmax at ε 2: another.\nnon-private: the same.\n", notes(r))
}

func TestDecision(t *testing.T) {
	r := sweep()
	r.Differences[0].Better = ""
	require.Equal(t, "No method was best beyond chance. Best, and not to be told apart: dpsgd/linear, pate/gnmax at ε 0.5, 2.", Decision(r))
	r.Differences[0].Better, r.Differences[1].Better = experiments.DPSGD, experiments.GNMax
	r.Rows[2].Accuracy = 0.91
	require.Equal(t, "Best beyond chance: dpsgd/linear at ε 0.5; pate/gnmax at ε 2. No other method was within chance of it.", Decision(r))
	r.Differences = nil
	require.Empty(t, Decision(r))
}
