package published_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/student"
)

// weights are some numbers for a linear model of two classes.
func weights(columns int) plain.Model {
	r := rng.SeedKey(3).Stream()
	l := &plain.Linear{Classes: []int{0, 1}, Bias: []float64{0.25, -0.5}, Weights: make([][]float64, 2)}
	for c := range l.Weights {
		for range columns {
			l.Weights[c] = append(l.Weights[c], float64(r.Uint64N(1000))/1000-0.5)
		}
	}
	return plain.Model{Linear: l}
}

// TestAPrivateModelGoesThroughItsFile and answers by its weights, and carries where it came from.
func TestAPrivateModelGoesThroughItsFile(t *testing.T) {
	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: write(t, "public.csv", rows(300, 1))}, dataset.Reading{CSV: dataset.CSVOptions{Label: "outcome"}})
	require.NoError(t, err)
	p := published.Private{Schema: schema, Kind: "linear", Features: features.NamePixels, Model: weights(schema.Features),
		Provenance: published.Provenance{Ledger: "l.jsonl", Entry: 1, Epsilon: 2, Delta: 1e-5, Unit: "patient", Relation: "add_remove", Releasable: true}}
	m := testkit.Must(published.FromModel(p))
	path := filepath.Join(t.TempDir(), "m")
	require.NoError(t, m.Save(path, 0o600))
	again := testkit.Must(published.Open(path))
	require.Equal(t, p.Provenance, again.Labels)
	require.Equal(t, "linear", again.String())
	got := testkit.Must(again.Predict(t.Context(), pool))
	l := p.Model.Linear
	for i, answer := range got {
		var z [2]float64
		for c := range z {
			z[c] = l.Bias[c]
			for j, w := range l.Weights[c] {
				z[c] += w * float64(pool.X.Data[i*pool.X.Stride+j])
			}
		}
		require.InDelta(t, 1/(1+math.Exp(z[0]-z[1])), answer.Probabilities[1], 1e-12)
	}

	for name, change := range map[string]func(p *published.Private){
		"weights":   func(p *published.Private) { p.Model = weights(schema.Features + 1) },
		"features":  func(p *published.Private) { p.Features = "magic" },
		"transform": func(p *published.Private) { p.Transform = []byte("damaged") },
		"no model":  func(p *published.Private) { p.Model = plain.Model{} },
	} {
		q := p
		change(&q)
		require.Error(t, testkit.Err(published.FromModel(q)), name)
	}
}

// TestChargedFeaturesStayWithTheModel: the statistics of private images that make the features
// are in the file.
func TestChargedFeaturesStayWithTheModel(t *testing.T) {
	shape := dataset.Shape{Rows: 16, Cols: 16}
	r := rng.SeedKey(5).Stream()
	set := dataset.Set{Image: shape}
	set.X.Rows, set.X.Cols, set.X.Stride = 40, 256, 256
	for range 40 * 256 {
		set.X.Data = append(set.X.Data, float32(r.Uint64N(256))/255)
	}
	cfg := charged.Default(40)
	book := testkit.Must(ledger.New(ledger.Config{Unit: "image", Relation: accountant.AddRemove, Epsilon: 1e6, Delta: 1e-5}))
	reserved := testkit.Must(book.ReserveBatch(cfg.Events()))
	made := testkit.Must(charged.Prepare(t.Context(), set, nil, dataset.Set{}, cfg, reserved, rng.SeedKey(1)))
	train := made.Train.Float32(1)
	transform := testkit.Must(made.Transform.MarshalBinary())
	schema := &dataset.Schema{Kind: dataset.Pictures, Image: shape, Features: 256, Classes: []string{"a", "b"}}
	p := published.Private{Schema: schema, Kind: "linear", Features: "scattering-hog", Settings: cfg.Name(), Transform: transform, Model: weights(train.Cols)}
	m := testkit.Must(published.FromModel(p))
	path := filepath.Join(t.TempDir(), "m")
	require.NoError(t, m.Save(path, 0o600))
	again := testkit.Must(published.Open(path))
	pool := dataset.Pool{X: set.X, Image: shape}
	want := testkit.Must(p.Model.Scores(t.Context(), train, 2))
	got := testkit.Must(again.Predict(t.Context(), pool))
	for i, answer := range got {
		require.InDeltaSlice(t, want[2*i:2*i+2], answer.Probabilities, 1e-6)
	}
	schema.Image = dataset.Shape{Rows: 8, Cols: 32}
	require.ErrorContains(t, testkit.Err(published.FromModel(p)), "16x16")
}

// A student is doubted where nearly all labels are one class, and where it is right less
// often than the most frequent class is.
func TestDoubt(t *testing.T) {
	labels := func(no, yes int) published.Labels {
		l := published.Labels{Classes: []string{"no", "yes"}, Released: no + yes, Of: []int{student.Unlabelled}}
		for i := range no + yes {
			class := 0
			if i < yes {
				class = 1
			}
			l.Of = append(l.Of, class, student.Unlabelled)
		}
		return l
	}
	for _, c := range []struct {
		no, yes, held, right int
		want                 string
	}{
		{0, 0, 0, 0, ""},
		{94, 6, 0, 0, ""},
		{95, 5, 100, 100, `95 of 100 released labels are "no"`},
		{0, 3, 0, 0, `3 of 3 released labels are "yes"`},
		{80, 20, 100, 80, ""},
		{80, 20, 50, 40, ""},
		{80, 20, 100, 79, "predicted 79 of 100 labels held back, and 80 of 100"},
		{20, 80, 50, 39, `80 of 100 released labels are "yes": always saying so`},
	} {
		m := published.Model{Card: published.Card{HeldBack: published.HeldBack{Labels: c.held, Right: c.right}}}
		got := m.Doubt(labels(c.no, c.yes))
		if c.want == "" {
			require.Empty(t, got, "%+v", c)
		} else {
			require.Contains(t, got, c.want, "%+v", c)
		}
	}
}
