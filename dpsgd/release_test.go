package dpsgd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func addNoise(r *release, step uint64) {
	r.fresh = r.noiseKey(step)
	r.read(1, func(int, int, []float64) {})
}

func noiseOf(t *testing.T, sum []int64) []int64 {
	t.Helper()
	r, err := newRelease(newToy(make([]float32, len(sum))...), column(1), setting{probability: 1, noiseMultiplier: 1, clip: FlatClip(1)}, 0, 2)
	require.NoError(t, err)
	r.key = rng.SeedKey(1)
	r.total = slices.Clone(sum)
	addNoise(r, 3)
	for i, v := range sum {
		r.total[i] -= v
	}
	return r.total
}

// TestSumsThatDifferMeetOtherNoise checks, under one key and step, that the same sum meets the same noise. A
// sum that differs by a unit, in any place, must meet other noise in every place.
func TestSumsThatDifferMeetOtherNoise(t *testing.T) {
	sum := make([]int64, 2*spanLength+5)
	noise := noiseOf(t, sum)
	require.Equal(t, noise, noiseOf(t, sum))
	for _, place := range []int{0, spanLength, len(sum) - 1} {
		sum[place]++
		other := noiseOf(t, sum)
		sum[place]--
		for i := range noise {
			require.NotEqual(t, noise[i], other[i], "place %d, number %d", place, i)
		}
	}
}

func TestBlocksComeFromThePublicNumber(t *testing.T) {
	blocks := func(rows, records int) int {
		r, err := newRelease(newToy(), column(make([]float32, rows)...), setting{probability: 1, noiseMultiplier: 1, clip: FlatClip(1)}, records, 1)
		require.NoError(t, err)
		return r.batch.blocks
	}
	require.NotEqual(t, blocks(96, 0), blocks(97, 0), "the numbers do not show it")
	require.Equal(t, blocks(96, 96), blocks(97, 96))

	sum := func(records int) float64 {
		cfg := Config{SamplingProbability: 1, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1, Records: records}
		m := newToy()
		require.NoError(t, testkit.Err(train(t.Context(), t, m, column(1, 1), cfg, rng.SeedKey(1))))
		return float64(m.parameters[0])
	}
	require.NotEqual(t, sum(1), sum(2))
}

func TestAWorkerThatAddsTooMuchReleasesNothing(t *testing.T) {
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1}
	for _, add := range []float32{2, 2.001, float32(math.Inf(-1)), float32(math.NaN())} {
		m := newToy(0.5)
		m.add = func(sum []float32, _ Data, _ []int, _ Clip) Tally { sum[0] += add; return Tally{} }
		_, err := train(t.Context(), t, m, column(1, 1), cfg, rng.SeedKey(1))
		if add == 2 { // of two records
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "second obligation", "%v", add)
		require.Equal(t, float32(0.5), m.parameters[0])
	}
}

// Every run of parameters has noise of its own: with one stream for all, the difference
// of two parameters would be bare.
func TestSpansMeetOtherNoise(t *testing.T) {
	law := testkit.Must(rng.NewDiscreteGaussian(1 << minGridBits))
	const spans = 3
	r := &release{key: rng.SeedKey(1), workers: 1, noise: law, parameters: spans * spanLength, total: make([]int64, spans*spanLength), scratch: make([]*scratch, spans)}
	addNoise(r, 0)
	for i := range spans {
		for j := range i {
			same := 0
			for k := range spanLength {
				if r.total[i*spanLength+k] == r.total[j*spanLength+k] {
					same++
				}
			}
			require.Less(t, same, 3, "runs %d and %d", i, j)
		}
	}
}

func TestStepsMeetOtherSamplesAndNoise(t *testing.T) {
	records := make([]float32, 300)
	r, err := newRelease(newToy(make([]float32, 8)...), column(records...), setting{probability: 0.3, noiseMultiplier: 1, clip: FlatClip(1)}, 0, 1)
	require.NoError(t, err)
	r.key = rng.SeedKey(1)
	noise, samples := map[int64]bool{}, map[string]bool{}
	const steps = 5
	for step := range uint64(steps) {
		require.NoError(t, testkit.Err(r.run(t.Context(), step)))
		samples[fmt.Sprint(r.batch.rows)] = true
		require.Zero(t, r.total[0], "the sums do not differ")
		r.read(1, func(int, int, []float64) {})
		noise[r.total[0]] = true
	}
	require.Len(t, samples, steps)
	require.Len(t, noise, steps)
}

func TestFingerprintHoldsEverything(t *testing.T) {
	type input struct {
		configuration string
		model         fake
		data          Data
	}
	base := func() input {
		d := column(1, 2, 3)
		d.Y = []int{0, 1, 2}
		return input{"a", newToy(1, 2), d}
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*input){
		"nothing":       func(*input) {},
		"configuration": func(i *input) { i.configuration = "b" },
		"parameters":    func(i *input) { i.model.parameters[1] = 2.5 },
		"more of them":  func(i *input) { i.model.parameters = append(i.model.parameters, 0) },
		"a record":      func(i *input) { i.data = column(1, 2, 4); i.data.Y = []int{0, 1, 2} },
		"a label":       func(i *input) { i.data.Y = []int{0, 1, 1} },
		"units":         func(i *input) { i.data.Ends = []int{1, 3} },
		"other units":   func(i *input) { i.data.Ends = []int{2, 3} },
		"single units":  func(i *input) { i.data.Ends = []int{1, 2, 3} },
		"packed":        func(i *input) { i.data.Packed, i.data.X = doubled{i.data.X}, blas32.General{} },
		"packed others": func(i *input) { i.data.Packed, i.data.X = doubled{column(1, 2, 4).X}, blas32.General{} },
		"a record less": func(i *input) { i.data = column(1, 2); i.data.Y = []int{0, 1} },
	} {
		i := base()
		change(&i)
		sum := string(fingerprint(i.configuration, i.model, i.data, 1))
		require.NotContains(t, seen, sum, "%s and %s", name, seen[sum])
		seen[sum] = name
	}
}

func TestHashIsNH(t *testing.T) {
	stream := rng.SeedKey(1).Stream()
	h := newHasher(stream)
	for _, n := range []int{0, 1, 2, 5, 64, spanLength - 1, spanLength} {
		m := testkit.Series(n, func(i int) int64 { return int64(stream.Uint64()) })
		word := func(i int) *big.Int {
			if i < n {
				return new(big.Int).SetUint64(uint64(m[i]))
			}
			return new(big.Int)
		}
		one := big.NewInt(1)
		modulo := func(v *big.Int, exponent uint) *big.Int { return v.Mod(v, new(big.Int).Lsh(one, exponent)) }
		got := h.sum(m)
		for pass := range 2 {
			want := new(big.Int)
			for i := 0; i < n; i += 2 {
				factor := func(i int) *big.Int {
					return modulo(new(big.Int).Add(word(i), new(big.Int).SetUint64(h.words[i+2*pass])), 64)
				}
				want.Add(want, new(big.Int).Mul(factor(i), factor(i+1)))
			}
			value := new(big.Int)
			for i := range 16 { // little-endian
				value.Lsh(value, 8).Add(value, big.NewInt(int64(got[16*pass+15-i])))
			}
			require.Zero(t, modulo(want, 128).Cmp(value), "length %d, pass %d", n, pass)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	h := newHasher(rng.SeedKey(1).Stream())
	m := make([]int64, spanLength)
	b.SetBytes(8 * spanLength)
	for b.Loop() {
		h.sum(m)
	}
}

// BenchmarkStep times one update with batches of 4,096 records on average, private and not,
// on all processors. The unit samples/s counts records in batches. What matters is the
// ratio of the two within one run.
func BenchmarkStep(b *testing.B) {
	for _, cols := range []int{784, 2304} {
		const records, classes = 16384, 10
		rnd := rand.New(rand.NewPCG(1, 4))
		data := Data{X: dense.New(records, cols), Y: testkit.Series(records, func(int) int { return rnd.IntN(classes) })}
		for i := range data.X.Data {
			data.X.Data[i] = float32(rnd.Float64())
		}
		for _, cfg := range []Config{
			{NonPrivate: true, ClipNorm: math.Inf(1)},
			{NoiseMultiplier: 4, ClipNorm: 0.1},
		} {
			name := "private"
			if cfg.NonPrivate {
				name = "non-private"
			}
			b.Run(fmt.Sprintf("softmax-%d-%d/%s", cols, classes, name), func(b *testing.B) {
				cfg.SamplingProbability, cfg.Steps, cfg.LearningRate = 0.25, 1, 0.1
				t := trainerOf(b, newSoftmax(cols, classes), data, cfg, 1)
				for b.Loop() {
					stepOf(b, t)
				}
				b.ReportMetric(float64(t.counts.Sampled)/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}

func BenchmarkNoise(b *testing.B) {
	data := Data{X: dense.New(1, 2304), Y: []int{0}}
	t := trainerOf(b, newSoftmax(2304, 10), data, Config{SamplingProbability: 1, NoiseMultiplier: 4, ClipNorm: 0.1}, 1)
	t.release.total = make([]int64, t.release.parameters)
	for step := uint64(0); b.Loop(); step++ {
		addNoise(t.release, step)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(t.release.total)), "ns/sample")
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	d, key := clouds(300, 4), rng.SeedKey(5)
	for name, cfg := range everyKind() {
		whole, want := trained(t, d, cfg, 5)
		dir := t.TempDir()
		cfg.Checkpoint, cfg.CheckpointEvery = filepath.Join(dir, "run.ckpt"), 4
		if cfg.TotalSteps() < 10 {
			cfg.CheckpointEvery = 2
		}
		book, steps := filepath.Join(dir, "run.jsonl"), 0
		for lives := 1; ; lives++ {
			require.Less(t, lives, 20)
			l, reservation := (*ledger.Ledger)(nil), reserve(t, cfg)
			if name == "momentum" { // one ledger file for all kinds
				var err error
				l, err = ledger.Open(t.Context(), book, ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5, Run: "one"}, ledger.VerifyOptions{})
				require.NoError(t, err)
				reservation = testkit.Must(l.Reserve(cfg.Event()))
			}
			m := newSoftmax(4, 3)
			ctx, kill := context.WithCancel(t.Context())
			here := 0
			cfg.Observe = func(Metrics) {
				steps++
				if here++; here == cfg.CheckpointEvery+3 {
					kill()
				}
			}
			got, err := Train(ctx, m, d, cfg, reservation, key)
			kill()
			if l != nil {
				events := l.Schedule().Events
				require.NoError(t, l.Close())
				require.Equal(t, []accountant.Event{cfg.Event()}, events, "one charge")
			}
			if err == nil {
				require.Greater(t, lives, 1)
				require.Equal(t, whole.Parameters(), m.Parameters(), name)
				require.Equal(t, want, got, name)
				break
			}
			require.ErrorIs(t, err, context.Canceled, name)
		}
		require.Less(t, steps, 2*cfg.TotalSteps()+2, "most steps are not done again")
		require.Equal(t, os.FileMode(0o600), testkit.Must(os.Stat(cfg.Checkpoint)).Mode().Perm())
	}
}

func TestACheckpointOfAnotherRunIsRefused(t *testing.T) {
	d, key := clouds(100, 3), rng.SeedKey(5)
	cfg := usual
	cfg.Steps, cfg.Checkpoint = 4, filepath.Join(t.TempDir(), "run.ckpt")
	trained(t, d, cfg, 5)
	file := testkit.Must(os.ReadFile(cfg.Checkpoint))
	try := func(data Data, cfg Config, key rng.Key) error {
		m := newSoftmax(3, 3)
		_, err := train(t.Context(), t, m, data, cfg, key)
		if errors.Is(err, ErrCheckpoint) {
			require.Equal(t, newSoftmax(3, 3).Parameters(), m.Parameters(), "nothing is changed")
		}
		return err
	}
	require.NoError(t, try(d, cfg, key), "a complete run repeats its result")
	other := cfg
	other.LearningRate = 2
	require.ErrorIs(t, try(d, other, key), ErrCheckpoint)
	require.ErrorIs(t, try(d, cfg, rng.SeedKey(6)), ErrCheckpoint)
	changed := clouds(100, 3)
	changed.Y[7] = (changed.Y[7] + 1) % 3
	require.ErrorIs(t, try(changed, cfg, key), ErrCheckpoint)
	damaged := [][]byte{nil, file[:len(file)-1], append(bytes.Clone(file), 0)}
	for i := 0; i < len(file); i += 13 {
		damaged = append(damaged, bytes.Clone(file))
		damaged[len(damaged)-1][i] ^= 4
	}
	for i, bad := range damaged {
		testkit.Write(t, cfg.Checkpoint, bad)
		require.ErrorIs(t, try(d, cfg, key), ErrCheckpoint, "file %d", i)
	}
	cfg.Checkpoint = filepath.Join(t.TempDir(), "no such folder", "run.ckpt")
	require.ErrorContains(t, try(d, cfg, key), "checkpoint")
}

func TestACheckpointOfAnotherEntry(t *testing.T) {
	d := clouds(30, 3)
	cfg := usual
	cfg.Steps, cfg.Checkpoint = 2, filepath.Join(t.TempDir(), "run.ckpt")
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5}))
	first := testkit.Must(l.Reserve(cfg.Event()))
	second := testkit.Must(l.Reserve(cfg.Event()))
	require.NoError(t, testkit.Err(Train(t.Context(), newSoftmax(3, 3), d, cfg, first, rng.SeedKey(5))))
	_, err := Train(t.Context(), newSoftmax(3, 3), d, cfg, second, rng.SeedKey(5))
	require.ErrorIs(t, err, ErrCheckpoint)
	require.ErrorContains(t, err, "entry 1 of the ledger, the reservation is entry 2")
}

// afterTwoSteps returns the trainer of a small run that writes its checkpoint to path.
func afterTwoSteps(t testing.TB, path string) *trainer {
	d, key := clouds(30, 3), rng.SeedKey(5)
	cfg := usual
	cfg.Steps, cfg.Workers, cfg.Checkpoint = 2, 1, path
	m := newSoftmax(3, 3)
	tr := trainerOf(t, m, d, cfg, 5)
	tr.release.key, tr.entry = key.DeriveBytes("dpsgd", fingerprint(cfg.identity(), m, d, 1)), 1
	tr.done, tr.counts = 2, Diagnostics{Sampled: 3}
	return tr
}

// TestAWrittenCheckpoint checks that testdata/run.ckpt is read, and written again byte for byte.
// UPDATE_GOLDEN=1 writes it: for a new format, or a run with another identity.
func TestAWrittenCheckpoint(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, afterTwoSteps(t, filepath.Join("testdata", "run.ckpt")).save())
	}
	written := testkit.Must(os.ReadFile(filepath.Join("testdata", "run.ckpt")))
	path := filepath.Join(t.TempDir(), "run.ckpt")
	tr := afterTwoSteps(t, path)
	tr.done, tr.counts = 0, Diagnostics{}
	require.NoError(t, tr.read(bytes.NewReader(written)))
	require.Equal(t, Diagnostics{Sampled: 3}, tr.counts)
	require.NoError(t, tr.save())
	require.Equal(t, written, testkit.Must(os.ReadFile(path)))
}

func FuzzCheckpoint(f *testing.F) {
	path := filepath.Join(f.TempDir(), "run.ckpt")
	require.NoError(f, afterTwoSteps(f, path).save())
	whole := testkit.Must(os.ReadFile(path))
	f.Add(whole)
	f.Add([]byte(checkpointMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := afterTwoSteps(t, path).read(bytes.NewReader(data))
		if !bytes.Equal(data, whole) && !errors.Is(err, ErrCheckpoint) {
			t.Fatalf("accepted, or another error: %v", err)
		}
	})
}
