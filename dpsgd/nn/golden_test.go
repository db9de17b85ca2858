package nn

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/testkit"
)

type numbers []float64

func (n *numbers) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case float64:
			*n = append(*n, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	*n = nil
	walk(v)
	return nil
}

type tensors map[string]numbers

type golden struct {
	Params  tensors                  `json:"params"`
	Inputs  []numbers                `json:"inputs"`
	Labels  []int                    `json:"labels"`
	Logits  []numbers                `json:"logits"`
	Losses  []float64                `json:"losses"`
	Grads   []tensors                `json:"per_example_grads"`
	ByParam []tensors                `json:"per_example_param_norms"`
	Norms   []float64                `json:"per_example_norms"`
	Sum     tensors                  `json:"sum_grads"`
	Clipped map[string]clippedGolden `json:"clipped"`
}

type clippedGolden struct {
	Scales     []float64 `json:"scales"`
	Fraction   float64   `json:"fraction_clipped"`
	Sum        tensors   `json:"flat_sum"`
	Budget     float64   `json:"per_tensor_budget"`
	ByTensor   tensors   `json:"per_tensor_sum"`
	Gamma      float64   `json:"automatic_gamma"`
	Automatic  tensors   `json:"automatic_sum"`
	Normalised tensors   `json:"normalised_sum"`
	Step       struct {
		Rate     float64 `json:"lr"`
		DivideBy float64 `json:"divide_by"`
		Params   tensors `json:"params"`
	} `json:"sgd_step_no_noise"`
}

// byChannelLast turns m x channels x rows x cols into m x rows x cols x channels.
func byChannelLast(x numbers, m, channels, rows, cols int) numbers {
	y := make(numbers, len(x))
	n := rows * cols
	for i := range m {
		for c := range channels {
			for p := range n {
				y[(i*n+p)*channels+c] = x[(i*channels+c)*n+p]
			}
		}
	}
	return y
}

// goldenNets lists the golden networks, with the order of their tensors and what the layout
// of positions before channels requires for each.
var goldenNets = []struct {
	name   string
	in     Shape
	layers []Layer
	order  []string
	layout map[string]func(numbers) numbers
}{
	{"logistic", Vector(6), []Layer{Dense{Units: 4}}, []string{"W", "b"}, nil},
	{"mlp_tanh", Vector(5), []Layer{Dense{Units: 7}, Tanh{}, Dense{Units: 6}, Tanh{}, Dense{Units: 3}},
		[]string{"W1", "b1", "W2", "b2", "W3", "b3"}, nil},
	{"cnn_relu_maxpool", Vector(162), []Layer{
		FromChannels{Shape: Image(9, 9, 2)},
		Conv2D{Filters: 3, Kernel: 4, Stride: 2, Padding: 1}, ReLU{}, MaxPool{Kernel: 2, Stride: 1},
		Conv2D{Filters: 4, Kernel: 2, Stride: 1}, ReLU{}, Flatten{}, Dense{Units: 5},
	}, []string{"K1", "c1", "K2", "c2", "W", "b"}, map[string]func(numbers) numbers{
		"K1": func(x numbers) numbers { return byChannelLast(x, 3, 2, 4, 4) },
		"K2": func(x numbers) numbers { return byChannelLast(x, 4, 3, 2, 2) },
		"W":  func(x numbers) numbers { return byChannelLast(x, 5, 4, 2, 2) },
	}},
}

func to[T Float](x []float64) []T { return testkit.Series(len(x), func(i int) T { return T(x[i]) }) }

func wide[T Float](x []T) []float64 {
	return testkit.Series(len(x), func(i int) float64 { return float64(x[i]) })
}

func TestGolden(t *testing.T) {
	for n := range goldenNets {
		t.Run(goldenNets[n].name, func(t *testing.T) {
			t.Run("float64", func(t *testing.T) { checkGolden[float64](t, n, 1e-9) })
			t.Run("float32", func(t *testing.T) { checkGolden[float32](t, n, 2e-5) })
		})
	}
}

func byTensor[T Float](tensors, rows int) grouping[T] {
	ends := upTo(tensors)
	for i := range ends {
		ends[i]++
	}
	return newGrouping[T](ends, rows)
}

func checkGolden[T Float](t *testing.T, n int, tolerance float64) {
	net := goldenNets[n]
	var g golden
	testkit.ReadJSON(t, "testdata/"+net.name+".json", &g)
	flat := func(x tensors) (f []float64) {
		for _, name := range net.order {
			v := x[name]
			if change := net.layout[name]; change != nil {
				v = change(v)
			}
			f = append(f, v...)
		}
		return f
	}
	near := func(want []float64, got []T) { require.InDeltaSlice(t, want, wide(got), tolerance) }
	arch := testkit.Must(newArchitecture(net.in, CrossEntropy, net.layers...))
	batch := examples[T]{Stride: net.in.Size() + 3, Y: g.Labels}
	all := upTo(len(g.Inputs))
	for _, x := range g.Inputs {
		batch.X = append(append(batch.X, to[T](x)...), 7, 7, 7)
	}
	parameters := to[T](flat(g.Params))
	for _, rows := range []int{1, 2, len(all)} { // micro-batches and one batch
		w := newWorker[T](arch, rows)
		w.Start(parameters)
		var outputs []T
		for part := range slices.Chunk(all, rows) {
			w.forward(batch, part)
			outputs = append(outputs, w.values[len(w.values)-1][:len(part)*arch.output().Size()]...)
		}
		near(slices.Concat(g.Logits...), outputs)
		add := func(rows []int, clip dpsgd.Clip) ([]T, dpsgd.Tally) {
			sum := make([]T, arch.parameters())
			return sum, w.AddClipped(sum, batch, rows, clip)
		}
		inf := math.Inf(1)
		for i := range g.Inputs {
			sum, tally := add(all[i:i+1], dpsgd.FlatClip(inf))
			near(flat(g.Grads[i]), sum)
			require.InDelta(t, g.Losses[i], tally.Loss, tolerance)
			// Norms: a clip norm of 1e-3 divides by them.
			add(all[i:i+1], dpsgd.FlatClip(1e-3))
			total := 0.0
			for k, s := range w.squares {
				total += s[0]
				require.InDelta(t, g.ByParam[i][net.order[k]][0], math.Sqrt(s[0]), tolerance)
			}
			require.InDelta(t, g.Norms[i], math.Sqrt(total), tolerance)
		}
		sum, _ := add(all, dpsgd.FlatClip(inf))
		near(flat(g.Sum), sum)
		sum, _ = add(all, dpsgd.FlatClip(1e9)) // the private way
		near(flat(g.Sum), sum)
		require.Len(t, g.Clipped, 3)
		for name, want := range g.Clipped {
			var clip float64
			require.NoError(t, json.Unmarshal([]byte(name), &clip))
			scaled := tolerance * max(1, clip)
			sum, tally := add(all, dpsgd.FlatClip(clip))
			near(flat(want.Sum), sum)
			require.InDelta(t, want.Fraction*float64(len(all)), float64(tally.Clipped), 1e-9)
			automatic, _ := add(all, dpsgd.Clip{Norms: []float64{clip}, Stabilizer: want.Gamma})
			require.InDeltaSlice(t, flat(want.Automatic), wide(automatic), scaled)
			normalised, _ := add(all, dpsgd.Clip{Norms: []float64{clip}, Stabilizer: math.SmallestNonzeroFloat64})
			require.InDeltaSlice(t, flat(want.Normalised), wide(normalised), scaled)
			layers := w.layers
			w.layers = byTensor[T](len(arch.tensors), rows)
			each, _ := add(all, dpsgd.Clip{Norms: slices.Repeat([]float64{want.Budget}, len(arch.tensors))})
			near(flat(want.ByTensor), each)
			w.layers = layers
			after := wide(parameters)
			for j, v := range sum {
				after[j] -= want.Step.Rate * float64(v) / want.Step.DivideBy
			}
			near(flat(want.Step.Params), to[T](after))
		}
	}
}

func small(t testing.TB, seed uint64) *Model {
	m, err := New(Image(4, 4, 1), CrossEntropy,
		Conv2D{Filters: 2, Kernel: 2, Stride: 2}, GroupNorm{Groups: 2}, ReLU{}, Flatten{}, Dense{Units: 3, Weights: Glorot})
	require.NoError(t, err)
	m.Init(rand.New(rand.NewPCG(seed, 1)))
	return m
}

func TestSaveAndLoad(t *testing.T) {
	from, into := small(t, 1), small(t, 2)
	require.NotEqual(t, from.Parameters(), into.Parameters())
	var b bytes.Buffer
	require.NoError(t, from.Save(&b))
	whole := slices.Clone(b.Bytes())
	b.WriteString("more")
	require.NoError(t, into.Load(&b))
	require.Equal(t, from.Parameters(), into.Parameters())
	require.Equal(t, "more", b.String())

	before := small(t, 2)
	require.ErrorContains(t, testkit.Must(NewSoftmax(16, 3)).Load(bytes.NewReader(whole)), "the file is for")
	for i := range whole {
		damaged := slices.Clone(whole)
		damaged[i] ^= 4
		m := small(t, 2)
		require.Error(t, m.Load(bytes.NewReader(damaged)), "byte %d", i)
		require.Error(t, m.Load(bytes.NewReader(whole[:i])), "first %d bytes", i)
		require.Equal(t, before.Parameters(), m.Parameters())
	}
	from.Parameters()[3] = float32(math.Inf(1))
	b.Reset()
	require.NoError(t, from.Save(&b))
	require.ErrorContains(t, into.Load(&b), "not finite")
}

func FuzzLoad(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, small(f, 1).Save(&b))
	f.Add(b.Bytes())
	f.Add([]byte(fileMagic + "\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := small(t, 2)
		err := m.Load(bytes.NewReader(raw))
		// Put the hash right, so that the checks after the hash are reached.
		if err != nil && len(raw) > sha256.Size+len(fileMagic)+4 {
			body := slices.Clone(raw[:len(raw)-sha256.Size])
			copy(body, fileMagic)
			name := m.arch.String()
			binary.LittleEndian.PutUint32(body[len(fileMagic):], uint32(len(name)))
			sum := sha256.Sum256(body)
			_ = m.Load(bytes.NewReader(append(body, sum[:]...)))
		}
		for _, v := range m.Parameters() {
			require.Zero(t, v-v)
		}
	})
}

func TestAFileOfAnEarlierVersion(t *testing.T) {
	written := testkit.Must(os.ReadFile(filepath.Join("testdata", "small.model")))
	m := small(t, 2)
	require.NoError(t, m.Load(bytes.NewReader(written)))
	var again bytes.Buffer
	require.NoError(t, m.Save(&again))
	require.Equal(t, written, again.Bytes())
}
