package nn_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

var benchModels = []struct {
	name  string
	cols  int
	build func(rnd *rand.Rand) (*nn.Model, error)
}{
	{"logistic-784-10", 784, func(*rand.Rand) (*nn.Model, error) { return nn.NewSoftmax(784, 10) }},
	{"mlp-784-128-10", 784, func(rnd *rand.Rand) (*nn.Model, error) { return nn.NewMLP(784, []int{128}, 10, rnd) }},
	{"mlp-784-1000-10", 784, func(rnd *rand.Rand) (*nn.Model, error) { return nn.NewMLP(784, []int{1000}, 10, rnd) }},
	{"cnn", 784, func(rnd *rand.Rand) (*nn.Model, error) { return nn.NewTutorialCNN(nn.Image(28, 28, 1), 10, rnd) }},
	{"linear-3969-10", 3969, func(*rand.Rand) (*nn.Model, error) { return nn.NewSoftmax(3969, 10) }},
}

func benchData(records, cols int) dpsgd.Data {
	rnd := rand.New(rand.NewPCG(1, 4))
	x := testkit.Series(records*cols, func(int) float32 { return rnd.Float32() })
	return dpsgd.Data{X: blas32.General{Rows: records, Cols: cols, Stride: cols, Data: x},
		Y: testkit.Series(records, func(int) int { return rnd.IntN(10) })}
}

// BenchmarkThroughput trains with batches of the given mean size, privately and not, on all processors. The
// unit samples/s counts records of batches per second of steps. It leaves out the hashing of the data before
// the first step. What matters is the ratio of the two within one run.
func BenchmarkThroughput(b *testing.B) {
	for _, m := range benchModels {
		for _, batch := range []int{1024, 4096} {
			data := benchData(2*batch, m.cols)
			for _, private := range []bool{false, true} {
				name := "non-private"
				cfg := dpsgd.Config{SamplingProbability: 0.5, Steps: 6, LearningRate: 1e-3, NonPrivate: true, ClipNorm: math.Inf(1)}
				if private {
					name = "private"
					cfg.NonPrivate, cfg.ClipNorm, cfg.NoiseMultiplier = false, 0.1, 4
				}
				b.Run(fmt.Sprintf("%s/batch-%d/%s", m.name, batch, name), func(b *testing.B) {
					var spent time.Duration
					steps := 0
					for b.Loop() {
						spent += timeSteps(b, m.build, data, cfg)
						steps += cfg.Steps - 1
					}
					b.ReportMetric(float64(steps*batch)/spent.Seconds(), "samples/s")
				})
			}
		}
	}
}

// timeSteps trains and returns the time from the end of the first step to the end of the last.
func timeSteps(b *testing.B, build func(*rand.Rand) (*nn.Model, error), data dpsgd.Data, cfg dpsgd.Config) time.Duration {
	model := testkit.Must(build(rand.New(rand.NewPCG(1, 5))))
	var reservation *ledger.Reservation
	if !cfg.NonPrivate {
		reservation = testledger.Reserve(b, accountant.AddRemove, cfg.Event())
	}
	var first, last time.Time
	cfg.Observe = func(m dpsgd.Metrics) {
		last = time.Now()
		if m.Step == 1 {
			first = last
		}
	}
	require.NoError(b, testkit.Err(dpsgd.Train(b.Context(), model, data, cfg, reservation, rng.SeedKey(1))))
	return last.Sub(first)
}

// BenchmarkDistances compares steps that measure distances with steps that do not, one by one within one run.
// The unit %more is the median of extra time. Batches have 1,024 records on average.
func BenchmarkDistances(b *testing.B) {
	for _, m := range benchModels {
		data := benchData(8192, m.cols)
		for _, between := range []dpsgd.Between{dpsgd.Batches, dpsgd.Records} {
			b.Run(m.name+"/"+between.String(), func(b *testing.B) {
				var extra []float64
				for b.Loop() {
					var times [2]time.Duration
					for i := range times {
						cfg := dpsgd.Config{SamplingProbability: 0.125, NoiseMultiplier: 1, ClipNorm: 1, Steps: 30, LearningRate: 1e-3, Workers: 1}
						if i == 1 {
							cfg.Distances = dpsgd.Distances{Observe: func(dpsgd.StepDistances) {}, Between: between}
						}
						times[i] = timeSteps(b, m.build, data, cfg)
					}
					extra = append(extra, 100*(times[1].Seconds()/times[0].Seconds()-1))
				}
				slices.Sort(extra)
				b.ReportMetric(extra[len(extra)/2], "%more")
			})
		}
	}
}

// twin and other have the name of the layer that they hold, and may compute something else.
type (
	twin  struct{ nn.Dense }
	other struct{ nn.Dense }
)

type verbose struct{ nn.Dense }

func (verbose) String() string { return "dense 2 | relu" }

func TestFingerprintsTellModelsApart(t *testing.T) {
	d := nn.Dense{Units: 2}
	seen := map[string]int{}
	for i, layers := range [][]nn.Layer{
		{d}, {nn.Dense{Units: 3}}, {twin{d}}, {other{d}}, {&twin{nn.Dense{Units: 3}}},
		{d, twin{d}}, {twin{d}, d}, {twin{d}, twin{d}},
		{verbose{d}}, {d, nn.ReLU{}},
	} {
		m := testkit.Must(nn.New(nn.Vector(2), nn.CrossEntropy, layers...))
		require.NotContains(t, seen, string(m.Fingerprint()), "model %d", i)
		seen[string(m.Fingerprint())] = i
	}
	value := testkit.Must(nn.New(nn.Vector(2), nn.CrossEntropy, d))
	require.Equal(t, value.Fingerprint(), testkit.Must(nn.New(nn.Vector(2), nn.CrossEntropy, &d)).Fingerprint())
}

// Train your own convolutional network privately: build it from layers, set how it is trained, charge for all steps, train.
// A release needs NewKey instead of SeedKey.
func Example() {
	data := strokes(2000)
	model, err := nn.New(nn.Image(8, 8, 1), nn.CrossEntropy,
		nn.Conv2D{Filters: 4, Kernel: 3, Stride: 1}, nn.ReLU{}, nn.MaxPool{Kernel: 2, Stride: 2},
		nn.Flatten{}, nn.Dense{Units: 2, Weights: nn.Glorot})
	check(err)
	model.Init(rand.New(rand.NewPCG(1, 2)))
	cfg := dpsgd.Config{SamplingProbability: 0.05, NoiseMultiplier: 1.5, ClipNorm: 1, Steps: 40, LearningRate: 0.5}
	budget, err := ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5})
	check(err)
	charge, err := budget.Reserve(cfg.Event())
	check(err)
	result, err := dpsgd.Train(context.Background(), model, data, cfg, charge, rng.SeedKey(1))
	check(err)
	public, err := model.Evaluate(context.Background(), strokes(200))
	check(err)
	spent, err := budget.Epsilon()
	check(err)
	fmt.Printf("right: more than 9 of 10, %v; epsilon below 2, %v; releasable, %v\n", public.Accuracy > 0.9, spent < 2, result.Releasable)
	// Output: right: more than 9 of 10, true; epsilon below 2, true; releasable, false
}

// strokes makes n pictures of 8 x 8 with a horizontal or a vertical stroke.
func strokes(n int) dpsgd.Data {
	data := dpsgd.Data{X: blas32.General{Rows: n, Cols: 64, Stride: 64, Data: make([]float32, 64*n)}, Y: make([]int, n)}
	rnd := rand.New(rand.NewPCG(uint64(n), 3))
	for i := range data.Y {
		data.Y[i] = i % 2
		at, row := rnd.IntN(8), data.X.Data[64*i:64*(i+1)]
		for k := range 8 {
			row[[]int{8*at + k, 8*k + at}[i%2]] = 1
		}
	}
	return data
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
