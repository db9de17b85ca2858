package main

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"

	"github.com/pate-go/pate/internal/testkit"
)

// predicted is the JSON of pate predict.
type predicted struct {
	Schema     string
	Accuracy   *float64
	Epsilon    *float64
	Unit       string
	Rows       int
	Releasable bool
	PublicRows bool `json:"public_rows"`
	Labels     []struct {
		Row, Label  string
		Probability *float64
	}
}

// strokeFolder writes idx files of strokes, upright or lying, of side x side pixels.
func strokeFolder(t *testing.T, dir string, side, train, test int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	rnd := rand.New(rand.NewPCG(3, 4))
	for prefix, n := range map[string]int{"train": train, "t10k": test} {
		images := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(n))
		images = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(images, uint32(side)), uint32(side))
		labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n))
		for i := range n {
			img, at := make([]byte, side*side), 3+rnd.IntN(side-6)
			for k := 2; k < side-2; k++ {
				if y, x := k, at; i%2 == 0 {
					img[y*side+x] = byte(100 + rnd.IntN(150))
				} else {
					img[x*side+y] = byte(100 + rnd.IntN(150))
				}
			}
			images, labels = append(images, img...), append(labels, byte(i%2))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, prefix+"-images-idx3-ubyte"), images, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, prefix+"-labels-idx1-ubyte"), labels, 0o600))
	}
}

// trainedOn trains a model of images and returns its file and its row.
func trainedOn(t *testing.T, data string, more ...string) (string, recipe.Row) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	text, _ := typed(t, shell.ExitDone, append([]string{"dpsgd", "--data", data, "--delta", "1e-4", "--seed", "5", "--steps", "20", "--no-cache",
		"--out", out, "--format", "json"}, more...)...)
	var r recipe.Result
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	return filepath.Join(out, "private", "results", "models", r.Rows[0].Name+"-run-0.model"), r.Rows[0]
}

// The accuracy that training printed is what predict says of the same rows, and the
// labels it writes have it.
func TestPredictSaysWhatTrainingSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "strokes")
	strokeFolder(t, data, 18, 300, 60)
	for name, flags := range map[string][]string{
		"scattering": {"--features", "deskewed-scattering-hog", "--noise-multiplier", "3", "--statistics-noise", "0.1"},
		"network":    {"--features", "raw", "--model", "cnn", "--epsilon", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			model, row := trainedOn(t, data, flags...)
			labels := filepath.Join(dir, name+".csv")
			base := []string{"predict", model, data}
			text, _ := typed(t, shell.ExitDone, append(base, "--probability", "--out", labels, "--format", "json")...)
			var report predicted
			require.NoError(t, json.Unmarshal([]byte(text), &report))
			require.Equal(t, "pate.dpsgd-predict/1", report.Schema)
			require.Equal(t, row.Accuracy, *report.Accuracy)
			require.Equal(t, *row.Epsilon, *report.Epsilon)
			require.False(t, report.Releasable, "seeded")
			require.Empty(t, report.Labels)

			info := testkit.Must(os.Stat(labels))
			require.Equal(t, os.FileMode(0o600), info.Mode())
			file := testkit.Must(os.ReadFile(labels))
			rows := testkit.Must(csv.NewReader(strings.NewReader(string(file))).ReadAll())
			require.Equal(t, []string{"row", "label", "probability", "releasable"}, rows[0])
			require.Len(t, rows, 61)
			right := 0.0
			for i, r := range rows[1:] {
				require.Equal(t, fmt.Sprintf("test/%d", i), r[0])
				require.Equal(t, "false", r[3])
				if r[1] == fmt.Sprint(i%2) {
					right++
				}
			}
			require.Equal(t, row.Accuracy, right/60)

			short, errs := typed(t, shell.ExitDone, base...)
			require.True(t, strings.HasPrefix(short, "row,label,releasable\ntest/0,"), short)
			require.Contains(t, errs, fmt.Sprintf("60 rows, %.2f %% right", 100*row.Accuracy))
			md, _ := typed(t, shell.ExitDone, append(base, "--out", labels, "--format", "md")...)
			require.Contains(t, md, "| right %")
			text, _ = typed(t, shell.ExitDone, append(base, "--format", "json")...)
			require.NoError(t, json.Unmarshal([]byte(text), &report))
			require.Len(t, report.Labels, 60)
			require.Nil(t, report.Labels[0].Probability)
		})
	}
}

func TestPredictRefuses(t *testing.T) {
	dir := t.TempDir()
	data, larger := filepath.Join(dir, "strokes"), filepath.Join(dir, "larger")
	strokeFolder(t, data, 16, 120, 20)
	strokeFolder(t, larger, 17, 20, 20)
	model, _ := trainedOn(t, data, "--features", "raw")
	file := testkit.Must(os.ReadFile(model))
	damaged, never := filepath.Join(dir, "damaged.model"), filepath.Join(dir, "never.csv")
	file[len(file)/2] ^= 1
	require.NoError(t, os.WriteFile(damaged, file, 0o600))
	for says, args := range map[string][]string{
		"damaged": {damaged, data},
		"is an idx file, as those of MNIST, not a model": {filepath.Join(data, "t10k-labels-idx1-ubyte"), data},
		"images of 16x16, these are 17x17":               {model, larger},
	} {
		_, errs := typed(t, shell.ExitInvalidInput, slices.Concat([]string{"predict", "--out", never}, args)...)
		require.Contains(t, errs, says)
		require.NoFileExists(t, never)
	}
	_, errs := typed(t, shell.ExitInvalidInput, "predict", model, data, "--out", model)
	require.Contains(t, errs, "is an input of this command")
}

// A model of a table answers about its test rows as it did, and about new rows with
// their columns in any order, with labels or without.
func TestPredictOnTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "blobs.csv")
	blobs(t, data, 900)
	model, row := trainedOn(t, data, "--label", "kind", "--unit", "who", "--unit-name", "person")
	ask := func(code int, args ...string) (predicted, string) {
		text, errs := typed(t, code, append([]string{"predict", model, "--format", "json"}, args...)...)
		var r predicted
		if code == shell.ExitDone {
			require.NoError(t, json.Unmarshal([]byte(text), &r))
		}
		return r, errs
	}
	scored, _ := ask(shell.ExitDone, data, "--label", "kind", "--unit", "who", "--scored")
	require.Equal(t, row.Accuracy, *scored.Accuracy)
	require.Equal(t, "person", scored.Unit)
	all, _ := ask(shell.ExitDone, data, "--label", "kind")
	require.Equal(t, 900, all.Rows)
	require.Equal(t, "1", all.Labels[0].Row)
	require.Greater(t, *all.Accuracy, 0.6)

	file := testkit.Must(os.ReadFile(data))
	rows := testkit.Must(csv.NewReader(strings.NewReader(string(file))).ReadAll())
	fresh := filepath.Join(dir, "fresh.csv")
	write := func(columns ...int) {
		var text strings.Builder
		for _, r := range rows {
			for i, c := range columns {
				text.WriteString(strings.Repeat(",", min(i, 1)) + r[c])
			}
			text.WriteString("\n")
		}
		require.NoError(t, os.WriteFile(fresh, []byte(text.String()), 0o600))
	}
	write(2, 1, 0)
	unlabelled, _ := ask(shell.ExitDone, fresh)
	require.Nil(t, unlabelled.Accuracy)
	require.Equal(t, all.Labels, unlabelled.Labels)
	_, errs := ask(shell.ExitInvalidInput, fresh, "--label", "colour", "--scored")
	require.Contains(t, errs, "are not those that scored")
	write(2, 0)
	_, errs = ask(shell.ExitInvalidInput, fresh)
	require.Contains(t, errs, `has no column "width"`)
	_, errs = ask(shell.ExitInvalidInput, "mnist", "--scored")
	require.Contains(t, errs, "these are images")
}

// asked is one question to a model: what is said of the rows' answers.
type asked struct {
	of   string // flags that say which rows
	want string // "releasable", "private" or "refused"
}

// Answers and accuracy are called releasable for the rows that scored alone, and for those
// that are declared to be public: a row of the training must not pass for one of them,
// whatever shape the data have and however the question is put.
func TestPredictReleasesWhatScoredAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, text []byte) { require.NoError(t, os.WriteFile(at(name), text, 0o600)) }
	letters := func(from, to int) []byte {
		text := "a,b,c,d,y\n"
		for i := from; i < to; i++ {
			text += fmt.Sprintf("%c,%c,%c,%c,%c\n", 'a'+i%2, 'a'+i/2%3, 'a'+i/6%5, 'a'+i/30%7, 'p'+i%2)
		}
		return []byte(text)
	}
	write("all.csv", letters(0, 900))
	write("priv.csv", letters(0, 600))
	write("fewer.csv", letters(0, 599))
	write("pub.csv", letters(600, 900))
	numbers := func(rows, cols int, value func(i, j int) float64) []byte { return npyFile(t, rows, cols, value) }
	feature := func(i, j int) float64 { return 3*float64(i%2) + noise(i, j) }
	label := func(i, _ int) float64 { return float64(i % 2) }
	write("x.npy", numbers(600, 4, feature))
	write("y.npy", numbers(600, 1, label))
	write("u.npy", numbers(600, 1, func(i, _ int) float64 { return float64(i / 2) }))
	write("xp.npy", numbers(300, 4, func(i, j int) float64 { return feature(i+600, j) }))
	write("yp.npy", numbers(300, 1, label))
	write("other.npy", numbers(300, 1, func(i, _ int) float64 { return float64((i + i/299) % 2) }))
	strokeFolder(t, at("strokes"), 16, 200, 50)

	for name, c := range map[string]struct {
		train string
		asked []asked
	}{
		"one table of letters": {"dpsgd --steps 5 --data all.csv --label y", []asked{
			{of: "all.csv --label y --scored", want: "releasable"},
			{of: "all.csv --label y --scored --split development", want: "refused"},
			{of: "all.csv --label y", want: "private"},
			{of: "all.csv --label y --public-rows", want: "releasable"},
			{of: "pub.csv --label y --scored", want: "refused"},
		}},
		"private and public tables": {"dpsgd --steps 5 priv.csv --public pub.csv --label y --size 600", []asked{
			{of: "priv.csv --label y --scored", want: "refused"},
			{of: "priv.csv --label y", want: "private"},
			{of: "priv.csv", want: "private"},
			{of: "fewer.csv --label y --scored", want: "refused"},
			{of: "fewer.csv --label y", want: "private"},
			{of: "pub.csv --label y", want: "releasable"},
		}},
		"one matrix of units": {"dpsgd --steps 5 --data x.npy --labels y.npy --units u.npy", []asked{
			{of: "x.npy --labels y.npy --units u.npy", want: "releasable"},
			{of: "x.npy --labels y.npy", want: "refused"},
			{of: "x.npy --labels y.npy --units u.npy --split development", want: "refused"},
		}},
		"private and public matrices": {"dpsgd --steps 5 x.npy --labels y.npy --public xp.npy --public-labels yp.npy", []asked{
			{of: "x.npy --labels y.npy --scored", want: "refused"},
			{of: "x.npy --labels y.npy", want: "private"},
			{of: "xp.npy --labels yp.npy", want: "releasable"},
			{of: "xp.npy --labels other.npy", want: "private"}, // one label of them
		}},
		"a public matrix without labels": {"dpsgd --steps 5 x.npy --labels y.npy --public xp.npy --classes 2", []asked{
			{of: "x.npy --labels y.npy --scored", want: "refused"},
			{of: "xp.npy", want: "private"},
			{of: "xp.npy --public-rows", want: "releasable"},
		}},
		"a comparison": {"compare --data all.csv --label y --methods dpsgd/linear --epsilon 2", []asked{
			{of: "all.csv --label y --scored", want: "releasable"},
		}},
		"a search": {"tune --data all.csv --label y --learning-rate 1 --law geometric", []asked{
			{of: "all.csv --label y --scored", want: "releasable"},
			{of: "all.csv --label y --scored --split development", want: "refused"},
		}},
		"images": {"dpsgd --steps 5 --data strokes --features raw", []asked{
			{of: "strokes", want: "releasable"},
			{of: "strokes --split development", want: "private"},
			{of: "strokes --split development --scored", want: "refused"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			words := func(text string) []string {
				words := strings.Fields(text)
				for i, w := range words {
					if _, err := os.Stat(at(w)); err == nil {
						words[i] = at(w)
					}
				}
				return words
			}
			out := filepath.Join(t.TempDir(), "run")
			typed(t, shell.ExitDone, append(words(c.train), "--delta", "1e-4", "--out", out)...)
			models := testkit.Must(filepath.Glob(filepath.Join(out, "public", "models", "*.model")))
			require.Len(t, models, 1)
			for _, a := range c.asked {
				args := append([]string{"predict", models[0], "--format", "json"}, words(a.of)...)
				if a.want == "refused" {
					text, errs := typed(t, shell.ExitInvalidInput, args...)
					require.Empty(t, text, a.of)
					require.Contains(t, errs, "are not those that scored", a.of)
					continue
				}
				var r predicted
				text, _ := typed(t, shell.ExitDone, args...)
				require.NoError(t, json.Unmarshal([]byte(text), &r))
				require.Equal(t, a.want == "releasable", r.Releasable, a.of)
			}
		})
	}
}
