package pate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate"
	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func labelOptions(t *testing.T) pate.LabelOptions {
	dir := t.TempDir()
	return pate.LabelOptions{Budget: pate.Budget{Epsilon: 2, Delta: 1e-5, Ledger: filepath.Join(dir, "run.jsonl")}, Out: filepath.Join(dir, "out")}
}

func open(t *testing.T, text string, opt votes.Options) *votes.Source {
	t.Helper()
	path := testkit.Write(t, filepath.Join(t.TempDir(), "votes.csv"), text)
	return testkit.Must(votes.Open(t.Context(), []string{path}, opt))
}

func summary(t *testing.T, path string) ledger.Summary {
	return testkit.Must(pate.Verify(path))
}

func ensemble(queries, teachers int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for q := range queries {
		for i := range teachers {
			class := q % 3
			if rnd.IntN(5) == 0 {
				class = (class + 1 + rnd.IntN(2)) % 3
			}
			b.WriteByte(byte('0' + class))
			b.WriteByte(",\n"[(i+1)/teachers])
		}
	}
	return b.String()
}

func TestLabel(t *testing.T) {
	v := open(t, ensemble(320, 300), votes.Options{Classes: 3})
	o := labelOptions(t)
	o.Epsilon = 8 // at which the noise of a pilot, which is fresh, is 3 votes of 100
	first := testkit.Must(pate.Label(t.Context(), v, o))
	require.True(t, first.Releasable)
	require.LessOrEqual(t, first.Epsilon, o.Epsilon)
	require.Len(t, first.Labels, first.Asked)
	require.Greater(t, first.Answered, 5)
	right := 0
	for i, l := range first.Labels {
		require.Equal(t, i, l.Query)
		if l.Class == l.Query%3 {
			right++
		}
	}
	// The noise is fresh. Votes like these are right nine times in ten at least, and 120 are answered:
	// fewer than two thirds are right in less than one of 10^10 runs.
	require.GreaterOrEqual(t, right, first.Answered*2/3)
	require.EqualValues(t, 2, summary(t, o.Ledger).Commits, "of the pilot and the labels")
	require.Greater(t, first.Pilot.LeastShare, 0.5)
	require.True(t, says(o.Ledger))

	again := testkit.Must(pate.Label(t.Context(), v, o))
	require.True(t, again.Complete)
	require.Equal(t, first.Labels, again.Labels)
	require.EqualValues(t, 2, summary(t, o.Ledger).Commits, "nothing more was charged")

	o.Out += "2"
	require.Error(t, testkit.Err(pate.Label(t.Context(), open(t, ensemble(121, 100), votes.Options{Classes: 3}), o)), "the queries were answered")
	o.Pool = "another"
	require.Error(t, testkit.Err(pate.Label(t.Context(), open(t, ensemble(121, 100), votes.Options{Classes: 3}), o)), "the ledger allows no further charge")
	require.NoFileExists(t, o.Out)
}

func TestLabelRefuses(t *testing.T) {
	seed := uint64(1)
	for name, c := range map[string]struct {
		votes string
		opt   votes.Options
		edit  func(*pate.LabelOptions)
		want  string
	}{
		"transposed":     {ensemble(20, 100), votes.Options{Classes: 3}, nil, "transposed"},
		"other teachers": {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Teachers = 30 }, "LabelOptions.Teachers is 30"},
		"duplicates":     {"", votes.Options{Classes: 3}, nil, ""},
		"a wasted one":   {ensemble(30, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Epsilon, o.NoPilot = 1, true }, "or raise Epsilon to"},
		"few teachers":   {ensemble(30, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Epsilon = 1 }, "declare how often a teacher is right"},
		"no ledger":      {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Ledger = "" }, "Budget.Ledger"},
		"no file":        {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Out = "" }, "Out is empty"},
		"a bad accuracy": {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.MinAccuracy = 90 }, "MinAccuracy"},
		"teachers' too":  {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.TeacherAccuracy = 90; o.Seed = &seed }, "TeacherAccuracy"},
		"counts alone":   {"9,1,0\n", votes.Options{Counts: true}, nil, "votes.Options.Teachers"},
	} {
		t.Run(name, func(t *testing.T) {
			o := labelOptions(t)
			if c.edit != nil {
				c.edit(&o)
			}
			if name == "duplicates" {
				twice := ""
				for line := range strings.Lines(ensemble(200, 20)) {
					twice += line[:len(line)-1] + "," + line[:1] + "\n"
				}
				c.votes, c.want = twice, "groups of teachers vote identically on every query: [0, 20"
			}
			_, err := pate.Label(t.Context(), open(t, c.votes, c.opt), o)
			require.ErrorContains(t, err, c.want)
			if name == "a wasted one" || name == "few teachers" {
				testkit.ErrorAs[*plan.NoPlanError](t, err)
			}
			require.NoFileExists(t, o.Ledger)
			require.NoFileExists(t, o.Out)
		})
	}
	require.ErrorContains(t, testkit.Err(pate.Label(context.Background(), nil, labelOptions(t))), "no votes")
}

func publishing(t *testing.T) pate.PublishOptions {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	rnd := rand.New(rand.NewPCG(1, 2))
	write := func(name string, rows int, labelled bool) string {
		var text strings.Builder
		text.WriteString(map[bool]string{true: "length,width,who,kind\n", false: "length,width\n"}[labelled])
		for i := range rows {
			fmt.Fprintf(&text, "%.2f,%.2f", 4*float64(i%3)+rnd.NormFloat64(), rnd.NormFloat64()-3*float64(i%3%2))
			if labelled {
				fmt.Fprintf(&text, ",p%d,%c", i, 'a'+i%3)
			}
			text.WriteString("\n")
		}
		return testkit.Write(t, filepath.Join(dir, name), text.String())
	}
	o := pate.PublishOptions{Budget: pate.Budget{Epsilon: 60, Delta: 1e-5}, Out: filepath.Join(dir, "out"), Teachers: 24, Learner: "softmax", MinAccuracy: 0.6,
		Private: dataset.Source{Path: write("private.csv", 150, true)}, Public: dataset.Source{Path: write("public.csv", 24, false)}}
	o.Reading.CSV.Label, o.Reading.CSV.Unit = "kind", "who"
	o.Reading.Rule.Names = []string{"a", "b", "c"}
	return o
}

// One call publishes labels and a student under one budget; the same call repeats it, and another one for
// the same folder is refused.
func TestPublish(t *testing.T) {
	o := publishing(t)
	p := testkit.Must(pate.Publish(t.Context(), o))
	require.True(t, p.Releasable)
	require.Equal(t, 24, p.Teachers)
	require.Positive(t, p.Labels)
	require.LessOrEqual(t, p.Epsilon, o.Epsilon)
	require.Contains(t, p.Files, filepath.Join(o.Out, "public", "student.model"))
	for _, path := range p.Files {
		require.FileExists(t, path)
	}
	require.Equal(t, p, testkit.Must(pate.Publish(t.Context(), o)))
	other := o
	other.MinAccuracy = 0.7
	require.ErrorIs(t, testkit.Err(pate.Publish(t.Context(), other)), run.ErrOtherRun)
	rows := testkit.Must(os.ReadFile(o.Private.Path))
	require.NoError(t, os.WriteFile(o.Private.Path, append(rows, "1.00,2.00,new,a\n"...), 0o600))
	_, err := pate.Publish(t.Context(), o)
	require.ErrorContains(t, err, "the data have changed")
	require.ErrorIs(t, err, run.ErrOtherRun)
}

func TestPublishMarginals(t *testing.T) {
	o := publishing(t)
	ranges := testkit.Write(t, filepath.Join(filepath.Dir(o.Out), "ranges.csv"), "length,-8.0..16.0\nwidth,-8.0..8.0\n")
	o.Epsilon, o.Public, o.Ranges, o.Pool = 20, dataset.Source{}, ranges, "marginals"
	p := testkit.Must(pate.Publish(t.Context(), o))
	require.Contains(t, p.Files, filepath.Join(o.Out, "public", "marginals.csv"))
	require.EqualValues(t, 2, testkit.Must(pate.Verify(filepath.Join(o.Out, "private", "ledger.jsonl"))).Commits)
	require.Equal(t, p, testkit.Must(pate.Publish(t.Context(), o)))
}

func TestPublishByAMethod(t *testing.T) {
	for name, want := range map[string]string{"": "dpsgd", "nearest": "nearest"} {
		o := publishing(t)
		o.Method, o.Size, o.Teachers, o.Learner, o.MinAccuracy, o.Epsilon = name, 150, 0, "", 0, 8
		p := testkit.Must(pate.Publish(t.Context(), o))
		require.Equal(t, want, p.Method)
		require.Equal(t, 24, p.Labels)
		require.Zero(t, p.Teachers)
		require.InDelta(t, 8, p.Epsilon, 0.1)
		require.Equal(t, p, testkit.Must(pate.Publish(t.Context(), o)))
		o.Method = "sample"
		require.ErrorIs(t, testkit.Err(pate.Publish(t.Context(), o)), run.ErrOtherRun)
	}
}

func TestPublishWithASeed(t *testing.T) {
	o := publishing(t)
	seed := uint64(3)
	o.Seed, o.Method, o.Size, o.Teachers, o.Learner, o.Epsilon = &seed, "dpsgd", 150, 0, "", 8
	p := testkit.Must(pate.Publish(t.Context(), o))
	require.False(t, p.Releasable)
	require.Contains(t, p.Files, filepath.Join(o.Out, "private", "results", "student.model"))
	require.NoDirExists(t, filepath.Join(o.Out, "public"))
}

func TestPublishRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*pate.PublishOptions)
		want   string
	}{
		"budget":    {func(o *pate.PublishOptions) { o.Epsilon, o.MinAccuracy = 0.3, 0.9 }, "nothing was charged"},
		"delta":     {func(o *pate.PublishOptions) { o.Delta = 0.1 }, "must be below 1/24"},
		"epsilon":   {func(o *pate.PublishOptions) { o.Epsilon = 0 }, "Epsilon"},
		"pools":     {func(o *pate.PublishOptions) { o.Ranges = "r.csv" }, "Ranges"},
		"marginals": {func(o *pate.PublishOptions) { o.Pool = "tree" }, "Ranges"},
		"size":      {func(o *pate.PublishOptions) { o.Method = "dpsgd" }, "Size"},
		"no method": {func(o *pate.PublishOptions) { o.Teachers, o.Learner, o.MinAccuracy = 0, "", 0 }, "Method auto needs Size"},
		"too few":   {func(o *pate.PublishOptions) { o.Method, o.Size, o.Epsilon = "nearest", 30, 0.5 }, "nothing was charged"},
		"accuracy":  {func(o *pate.PublishOptions) { o.MinAccuracy = 1 }, "MinAccuracy"},
		"column":    {func(o *pate.PublishOptions) { o.Reading.CSV.Label = "nope" }, "nope"},
		"ledger":    {func(o *pate.PublishOptions) { o.Ledger = "l.jsonl" }, "Ledger"},
		"out":       {func(o *pate.PublishOptions) { o.Out = "" }, "Out"},
	} {
		t.Run(name, func(t *testing.T) {
			o := publishing(t)
			out := o.Out
			c.change(&o)
			_, err := pate.Publish(t.Context(), o)
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, out)
			if name == "budget" {
				testkit.ErrorAs[*plan.NoPlanError](t, err)
			}
		})
	}
}

func records(n int) dpsgd.Data {
	d := dpsgd.Data{X: blas32.General{Rows: n, Cols: 2, Stride: 2}, Y: make([]int, n)}
	for i := range d.Y {
		d.Y[i] = i % 2
		d.X.Data = append(d.X.Data, float32(1-i%2), float32(i%2))
	}
	return d
}

func softmax(t *testing.T) *nn.Model {
	return testkit.Must(nn.NewSoftmax(2, 2))
}

func config() dpsgd.Config {
	return dpsgd.Config{SamplingProbability: 0.1, Steps: 10, ClipNorm: 1, LearningRate: 1}
}

func trainOptions(t *testing.T) pate.TrainOptions {
	o := labelOptions(t)
	return pate.TrainOptions{Budget: o.Budget, Out: o.Out}
}

func TestTrain(t *testing.T) {
	o, m := trainOptions(t), softmax(t)
	first := testkit.Must(pate.Train(t.Context(), m, records(500), config(), o))
	require.True(t, first.Releasable)
	bound := testkit.Must(accountant.Epsilon(t.Context(), accountant.ByRDP, accountant.AddRemove, o.Delta, first.Event))
	require.LessOrEqual(t, first.Epsilon, o.Epsilon)
	require.Greater(t, bound.Upper, 0.99*o.Epsilon, "the noise is the least that fits")
	cfg := config()
	cfg.NoiseMultiplier = first.NoiseMultiplier
	require.Equal(t, cfg.Event(), first.Event)
	require.EqualValues(t, 1, summary(t, o.Ledger).Commits)

	same := softmax(t)
	again := testkit.Must(pate.Train(t.Context(), same, records(500), config(), o))
	require.True(t, again.Complete)
	require.Equal(t, first.Event, again.Event)
	require.Equal(t, m.Parameters(), same.Parameters(), "it is read from its file")

	other := softmax(t)
	o.Out += "2"
	require.ErrorContains(t, testkit.Err(pate.Train(t.Context(), other, records(499), config(), o)), "allows no further charge")
	require.Equal(t, softmax(t).Parameters(), other.Parameters(), "as it was")
}

func TestTrainGoesOn(t *testing.T) {
	var places []string
	require.NoError(t, testkit.Err(pate.Train(crash.With(t.Context(), func(place string) error {
		places = append(places, place)
		return nil
	}), softmax(t), records(500), config(), trainOptions(t))))
	require.Greater(t, len(places), 4)
	stop := errors.New("killed")
	for _, place := range slices.Compact(slices.Sorted(slices.Values(places))) {
		t.Run(place, func(t *testing.T) {
			o, m := trainOptions(t), softmax(t)
			var drawn []byte
			require.ErrorIs(t, testkit.Err(pate.Train(crash.With(t.Context(), func(at string) error {
				if at != place {
					return nil
				}
				files := testkit.Must(filepath.Glob(filepath.Join(filepath.Dir(o.Out), ".out.*.tmp")))
				if len(files) == 1 {
					drawn = testkit.Must(os.ReadFile(files[0]))
				}
				return stop
			}), m, records(500), config(), o)), stop)
			require.Equal(t, softmax(t).Parameters(), m.Parameters(), "as it was")
			require.NoError(t, testkit.Err(pate.Train(t.Context(), m, records(500), config(), o)))
			s := summary(t, o.Ledger)
			require.EqualValues(t, 1, s.Entries)
			require.EqualValues(t, 1, s.Commits)
			file := testkit.Must(os.ReadFile(o.Out))
			if len(drawn) > 0 {
				require.Equal(t, drawn, file, "the same noise")
			}
			require.Empty(t, testkit.Must(filepath.Glob(o.Ledger+".*.key")))
		})
	}
}

func TestLabelsAndAModelOnOneLedger(t *testing.T) {
	o := trainOptions(t)
	o.Epsilon, o.Shared = 6, true
	v := open(t, ensemble(200, 100), votes.Options{Classes: 3, To: 10})
	require.NoError(t, testkit.Err(pate.Label(t.Context(), v, pate.LabelOptions{Budget: o.Budget, Out: o.Out, NoPilot: true})))
	spent := o
	o.Out += "2"
	require.Equal(t, o.Epsilon, testkit.Must(pate.Train(t.Context(), softmax(t), records(500), config(), o)).Epsilon)
	require.EqualValues(t, 2, summary(t, o.Ledger).Commits)
	spent.Out += "3"
	require.ErrorContains(t, testkit.Err(pate.Train(t.Context(), softmax(t), records(400), config(), spent)), "too little left for a model")
	require.NoFileExists(t, spent.Out)
}

func TestTrainRefuses(t *testing.T) {
	seed := uint64(1)
	for name, c := range map[string]struct {
		edit func(*dpsgd.Config, *pate.TrainOptions)
		want string
	}{
		"noise":     {func(c *dpsgd.Config, _ *pate.TrainOptions) { c.NoiseMultiplier = 1 }, "chooses the noise"},
		"delta":     {func(_ *dpsgd.Config, o *pate.TrainOptions) { o.Delta = 0.01 }, "must be below 1/500"},
		"no steps":  {func(c *dpsgd.Config, _ *pate.TrainOptions) { c.Steps = 0 }, "Config.Steps"},
		"no ledger": {func(_ *dpsgd.Config, o *pate.TrainOptions) { o.Ledger = "" }, "Budget.Ledger"},
		"epsilon":   {func(_ *dpsgd.Config, o *pate.TrainOptions) { o.Epsilon = -1 }, ""},
	} {
		o, cfg := trainOptions(t), config()
		c.edit(&cfg, &o)
		require.ErrorContains(t, testkit.Err(pate.Train(t.Context(), softmax(t), records(500), cfg, o)), c.want, name)
		if o.Ledger != "" {
			require.NoFileExists(t, o.Ledger, name)
		}
	}

	// Rows of one unit are one record, so their number does not limit delta.
	units, o := records(500), trainOptions(t)
	for end := 5; end <= 500; end += 5 {
		units.Ends = append(units.Ends, end)
	}
	o.Delta = 0.02
	require.ErrorContains(t, testkit.Err(pate.Train(t.Context(), softmax(t), units, config(), o)), "must be below 1/100,")

	// Seeded runs are for experiments, on ledgers of their own.
	train := func(o pate.TrainOptions) (*nn.Model, pate.Trained, error) {
		m := softmax(t)
		trained, err := pate.Train(t.Context(), m, records(500), config(), o)
		return m, trained, err
	}
	seeded, twin, secret := trainOptions(t), trainOptions(t), trainOptions(t)
	seeded.Seed, twin.Seed = &seed, &seed
	m, trained := testkit.Must2(train(seeded))
	require.False(t, trained.Releasable)
	require.False(t, says(seeded.Ledger))
	repeated, _ := testkit.Must2(train(twin))
	require.Equal(t, m.Parameters(), repeated.Parameters())
	seeded.Seed, seeded.Out = nil, seeded.Out+"2"
	require.ErrorContains(t, testkit.Err2(train(seeded)), "noise is seeded, not secret")
	require.NoError(t, testkit.Err2(train(secret)))
	secret.Seed, secret.Out = &seed, secret.Out+"2"
	require.ErrorContains(t, testkit.Err2(train(secret)), "noise is secret, not seeded")
}

func TestTheLedgerDoesNotNameTheData(t *testing.T) {
	o := trainOptions(t)
	require.NoError(t, testkit.Err(pate.Train(context.Background(), softmax(t), records(500), config(), o)))
	text := testkit.Must(os.ReadFile(o.Ledger))
	cfg := config()
	cfg.NoiseMultiplier = 1
	bare := fmt.Sprintf("%x", dpsgd.Fingerprint(softmax(t), records(500), cfg))
	require.NotContains(t, string(text), bare[:12])
}
