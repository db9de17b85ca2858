// Package testkit has helpers for tests: divergences of discrete distributions, small sets of histograms, a
// goodness-of-fit test, and reference files.
package testkit

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// FalseAlarm is the probability that a correct mechanism fails a chi-square test. Seeds are fixed, so a
// repeated test has the same result.
const FalseAlarm = 1e-9

// HockeyStick returns the hockey-stick divergence at eps: the sum of the positive parts of p - e^eps q.
func HockeyStick(p, q []float64, eps float64) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Max(0, p[i]-math.Exp(eps)*q[i])
	}
	return sum
}

// EitherHockeyStick returns the larger hockey-stick divergence of (p, q) and (q, p).
func EitherHockeyStick(p, q []float64, eps float64) float64 {
	return max(HockeyStick(p, q, eps), HockeyStick(q, p, eps))
}

// Renyi returns the Rényi divergence of order a between p and q.
func Renyi(p, q []float64, a float64) float64 {
	sum := 0.0
	for i := range p {
		if p[i] > 0 {
			sum += math.Exp(a*math.Log(p[i]) + (1-a)*math.Log(q[i]))
		}
	}
	return math.Log(sum) / (a - 1)
}

// Histograms returns all histograms with this number of classes and at most this number of votes.
func Histograms(votes, classes int) [][]int {
	if classes == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for n := range votes + 1 {
		for _, rest := range Histograms(votes-n, classes-1) {
			all = append(all, append([]int{n}, rest...))
		}
	}
	return all
}

// Neighbours returns the indices of the neighbours of each histogram. Neighbours differ by one added or
// removed vote. If moves is true, one moved vote also makes neighbours.
func Neighbours(histograms [][]int, moves bool) [][]int {
	number := map[string]int{}
	for i, h := range histograms {
		number[fmt.Sprint(h)] = i
	}
	edges := make([][]int, len(histograms))
	for i, h := range histograms {
		for from := -1; from < len(h); from++ { // -1 is an abstention
			for to := -1; to < len(h); to++ {
				if from == to || !moves && from >= 0 && to >= 0 {
					continue
				}
				other := slices.Clone(h)
				if from >= 0 {
					other[from]--
				}
				if to >= 0 {
					other[to]++
				}
				if j, ok := number[fmt.Sprint(other)]; ok {
					edges[i] = append(edges[i], j)
				}
			}
		}
	}
	return edges
}

// ChiSquare returns the p-value of Pearson's chi-square test. Cells with fewer than 20 expected observations
// are merged.
func ChiSquare(observed, expected []float64) float64 {
	chi2, rest, restExpected, cells := 0.0, 0.0, 0.0, 0
	add := func(o, e float64) {
		chi2 += (o - e) * (o - e) / e
		cells++
	}
	for i, e := range expected {
		if e >= 20 {
			add(observed[i], e)
		} else {
			rest, restExpected = rest+observed[i], restExpected+e
		}
	}
	if restExpected >= 5 {
		add(rest, restExpected)
	} else if rest > restExpected+45 { // Poisson(5): probability below 1e-22
		return 0
	}
	if cells < 2 {
		return 1
	}
	return distuv.ChiSquared{K: float64(cells - 1)}.Survival(chi2)
}

func ReadJSON(t require.TestingT, path string, v any) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v))
}

// Golden decodes the JSON reference file at path. Lists in the file must not be empty, except lists inside
// other lists.
func Golden[T any](t require.TestingT, path string) (v T) {
	ReadJSON(t, path, &v)
	requireLists(t, path, reflect.ValueOf(v))
	return v
}

func requireLists(t require.TestingT, path string, v reflect.Value) {
	if v.Kind() == reflect.Slice {
		require.NotZero(t, v.Len(), "%s: an empty %s", path, v.Type())
	} else if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			requireLists(t, path, v.Field(i))
		}
	}
}

// Must returns v if err is nil, and otherwise panics.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func Must2[T, U any](v T, u U, err error) (T, U) { return Must(v, err), u }

func Series[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func Err[T any](_ T, err error) error { return err }

func Err2[T, U any](_ T, _ U, err error) error { return err }

// ErrorAs requires that err wraps an error of type E, and returns the wrapped error.
func ErrorAs[E error](t require.TestingT, err error, about ...any) (found E) {
	require.ErrorAs(t, err, &found, about...)
	return found
}

func Write[T string | []byte](t require.TestingT, path string, content T) string {
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// WellFormed requires that text is well-formed XML.
func WellFormed(t require.TestingT, text []byte, about ...any) {
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else {
			require.NoError(t, err, about...)
		}
	}
}

// Ended returns a canceled context.
func Ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func Gzip(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	Must(w.Write(data))
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Folder returns a temporary folder for programs that may write after the test ends, such as browsers. Unlike
// t.TempDir, it does not fail a test if a file cannot be removed.
func Folder(t testing.TB) string {
	dir, err := os.MkdirTemp("", "pate-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
