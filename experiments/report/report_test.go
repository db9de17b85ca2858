package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/experiments"
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
	html := testkit.Must(os.ReadFile(filepath.Join(results, "report.html")))
	page := string(html)
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
		svg := testkit.Must(os.ReadFile(filepath.Join(results, name+".svg")))
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else {
				require.NoError(t, err, name)
			}
		}
	}
	var back map[string]any
	data := testkit.Must(os.ReadFile(filepath.Join(results, "results.json")))
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, "pate.compare/1", back["schema"])
	account := testkit.Must(os.ReadFile(filepath.Join(dir, "public", "accounts", "pate-confident-gnmax.json")))
	schedule := testkit.Must(accountant.ParseSchedule(account))
	require.Equal(t, []accountant.Event{accountant.GNMax{Sigma: 40}}, schedule.Events)

	again := testkit.Must(Read(dir))
	require.Equal(t, sample(), again)
	require.NoError(t, os.WriteFile(filepath.Join(results, "results.json"), []byte(`{"schema":"pate.label/1"}`), 0o600))
	require.ErrorContains(t, testkit.Err(Read(dir)), "pate.label/1")
}

func TestTextFitsATerminalOf80Columns(t *testing.T) {
	r := sample()
	var b strings.Builder
	b.WriteString(Heading(r))
	require.NoError(t, Table(r).Write(&b, table.Text))
	b.WriteString(Footnotes(r))
	for _, line := range strings.Split(b.String(), "\n") {
		require.LessOrEqual(t, len([]rune(line)), 80, line)
	}
	require.Regexp(t, regexp.MustCompile(`pate/confident-gnmax +2\.0000 +98\.50 +0\.30 +250/300 +99\.0`), b.String())
	require.Regexp(t, regexp.MustCompile(`non-private +none`), b.String())

	area := 0.87654
	for i := range r.Rows {
		r.Rows[i].SD, r.Rows[i].AUROC = nil, &area
	}
	b.Reset()
	require.NoError(t, Table(r).Write(&b, table.Text))
	b.WriteString(Footnotes(r))
	for _, line := range strings.Split(b.String(), "\n") {
		require.LessOrEqual(t, len([]rune(line)), 80, line)
	}
	require.Regexp(t, regexp.MustCompile(`pate/confident-gnmax +2\.0000 +98\.50 +87\.65 +250/300`), b.String())
}

func TestRecordsKeepFullPrecision(t *testing.T) {
	r := sample()
	e := 1.9999999973183933
	r.Rows[0].Epsilon = &e
	var b strings.Builder
	require.NoError(t, Records(r).Write(&b, table.CSV))
	require.Contains(t, b.String(), "1.9999999973183933")
}

func TestAReportWithoutPrivateRows(t *testing.T) {
	r := sample()
	r.Rows, r.Diagnostics = r.Rows[2:], nil
	require.NoError(t, Write(t.TempDir(), r, "pate compare"))
}

// TestClaimsReadNoLessThanTheyAre: one ulp above 0.0265, times 10,000, is 265.
func TestClaimsReadNoLessThanTheyAre(t *testing.T) {
	above := math.Nextafter(0.0265, 1)
	require.Equal(t, "0.0266", epsilonCell(experiments.Row{Epsilon: &above}))
}

// What may be published tells no running time: that is of work on private rows.
func TestPublishedFilesTellNoTimes(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	r.Diagnostics, r.Rows, r.Releasable = nil, r.Rows[:2], true
	r.Seconds, r.Rows[0].Seconds, r.Rows[1].Seconds = 31337, 31337, 31337
	require.NoError(t, Write(dir, r, "pate compare"))
	require.Equal(t, 31337.0, r.Seconds, "what is printed keeps them")
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		require.NoError(t, err)
		if e.IsDir() {
			return nil
		}
		text := testkit.Must(os.ReadFile(path))
		info := testkit.Must(e.Info())
		if filepath.Base(filepath.Dir(path)) == "private" {
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			return nil
		}
		require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
		require.NotContains(t, string(text), "31337", path)
		require.NotContains(t, string(text), `"seconds"`, path)
		return nil
	}))
	again := testkit.Must(Read(dir))
	require.Equal(t, r, again)
}

// Every file of a seeded run says that it is not releasable, and is for its owner alone.
func TestFilesOfASeededRunAreMarked(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	r.Diagnostics, r.Seeded, r.Seconds = nil, true, 1
	require.NoError(t, Write(dir, r, "pate compare --seed 1"))
	mark := regexp.MustCompile(`(?i)not releasable|"releasable": false|,false\n`)
	marked := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		require.NoError(t, err)
		if e.IsDir() {
			return nil
		}
		info := testkit.Must(e.Info())
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), path)
		text := testkit.Must(os.ReadFile(path))
		switch {
		case filepath.Base(filepath.Dir(path)) == "private":
		case strings.HasPrefix(filepath.Base(path), "seeded-"):
			marked++
		default:
			require.Regexp(t, mark, string(text), path)
			marked++
		}
		return nil
	}))
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
