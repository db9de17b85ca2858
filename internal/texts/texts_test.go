package texts

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/internal/testkit"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          nil,
		"a I é !? ..":               nil,
		"The cat's 12 mice, Straße": {"the", "cat", "12", "mice", "straße"},
		"naïve_ΟΔΟΣ\n第二章":           {"naïve", "οδοσ", "第二章"},
		"ok\xff\xfeok":              {"ok", "ok"},
		strings.Repeat("x", 40) + " " + strings.Repeat("y", 41): {strings.Repeat("x", 40)},
	} {
		require.Equal(t, want, slices.Collect(Words(text)), "%q", text)
	}
	require.Len(t, slices.Collect(Words(strings.Repeat("one two ", mostRead))), mostRead)
}

func corpus(n int) (texts []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		var words []string
		for range 12 {
			words = append(words, fmt.Sprintf("w%d", r.IntN(4)+10*(i%12)), fmt.Sprintf("common%d", r.IntN(4)))
		}
		texts = append(texts, strings.Join(words, " "))
	}
	return texts
}

func encoded(s *Space, texts ...string) *mat.Dense {
	out := mat.NewDense(len(texts), s.Dim(), nil)
	row := make([]float32, s.Dim())
	for i, text := range texts {
		s.Encode(row, text)
		for j, v := range row {
			out.Set(i, j, float64(v))
		}
	}
	return out
}

// Cosines of encoded texts equal those by a dense decomposition of weights that are computed from their
// definition. Negative control: they differ from those of as many directions of the smallest values.
func TestCosinesOfADenseDecomposition(t *testing.T) {
	public := corpus(120)
	s := testkit.Must(Fit(public))
	require.Equal(t, 12, s.Dim())
	dense := mat.NewDense(len(public), s.Words(), nil)
	for i, text := range public {
		for j, word := range s.words {
			count, in := strings.Count(" "+text+" ", " "+word+" "), 0
			for _, other := range public {
				if strings.Contains(" "+other+" ", " "+word+" ") {
					in++
				}
			}
			if count > 0 {
				dense.Set(i, j, (1+math.Log(float64(count)))*(math.Log(121/float64(1+in))+1))
			}
		}
		row := dense.RawRowView(i)
		length := mat.Norm(mat.NewVecDense(len(row), row), 2)
		for j := range row {
			row[j] /= length
		}
	}
	var svd mat.SVD
	require.True(t, svd.Factorize(dense, mat.SVDThin))
	var v, got mat.Dense
	svd.VTo(&v)
	is := encoded(s, public...)
	got.Mul(is, is.T())
	worst := func(from int) (worst float64) {
		var z, cosine mat.Dense
		z.Mul(dense, v.Slice(0, s.Words(), from, from+s.Dim()))
		cosine.Mul(&z, z.T())
		for i := range public {
			for j := range public {
				want := Length * Length * cosine.At(i, j) / math.Sqrt(cosine.At(i, i)*cosine.At(j, j))
				worst = max(worst, math.Abs(want-got.At(i, j)))
			}
		}
		return worst
	}
	require.Less(t, worst(0), 0.02)
	require.Greater(t, worst(s.Words()-s.Dim()), 1.0)
}

func TestFileOfASpace(t *testing.T) {
	public := corpus(40)
	s := testkit.Must(Fit(public))
	text := testkit.Must(json.Marshal(s))
	var read Space
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, encoded(s, public...), encoded(&read, public...))
	require.Equal(t, text, testkit.Must(json.Marshal(testkit.Must(Fit(public)))), "equal texts, equal bytes")
	for from, to := range map[string]string{
		`"features":10`: `"features":9`, `"length":4`: `"length":5`, `"words":["common0",`: `"words":["common9",`,
		`"weights":[`: `"weights":[-1,`, `"directions":"`: `"directions":"AAAA`, `["common0",`: `["` + strings.Repeat("common0", 20) + `",`,
	} {
		require.Contains(t, string(text), from)
		require.Error(t, json.Unmarshal([]byte(strings.Replace(string(text), from, to, 1)), &read), from)
	}
	_, err := Fit([]string{"each word", "stands once", "only here"})
	require.ErrorContains(t, err, "hardly a word")
}

func FuzzEncode(f *testing.F) {
	s := testkit.Must(Fit(corpus(40)))
	for _, text := range []string{"", "w1 common2", "W1\xffw1 \u0130 ΑΣ", strings.Repeat("common1 ", 20_000), "\u0301e 第二章 1²"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		known, n := false, 0
		for word := range Words(text) {
			_, is := s.at[word]
			known, n = known || is, n+1
			require.GreaterOrEqual(t, utf8.RuneCountInString(word), shortest)
			require.NotContains(t, word, " ")
		}
		row, more := make([]float32, s.Dim()), make([]float32, s.Dim())
		s.Encode(row, text)
		square := 0.0
		for _, v := range row {
			square += float64(v) * float64(v)
		}
		if !known {
			require.Zero(t, square)
		} else {
			require.InDelta(t, Length*Length, square, 1e-3)
		}
		if n < mostRead {
			s.Encode(more, text+" unheard zzyzx")
			require.Equal(t, row, more)
		}
	})
}
