package main

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dpsgd/recipe"
)

// predicted is the JSON of pate dpsgd predict.
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
	return filepath.Join(out, "models", r.Rows[0].Name+"-run-0.model"), r.Rows[0]
}

// The accuracy that training printed is what predict says of the same rows, and the
// labels it writes have it.
func TestPredictSaysWhatTrainingSaid(t *testing.T) {
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
			base := []string{"dpsgd", "predict", model, "--data", data}
			text, _ := typed(t, shell.ExitDone, append(base, "--probability", "--out", labels, "--format", "json")...)
			var report predicted
			require.NoError(t, json.Unmarshal([]byte(text), &report))
			require.Equal(t, "pate.dpsgd-predict/1", report.Schema)
			require.Equal(t, row.Accuracy, *report.Accuracy)
			require.Equal(t, *row.Epsilon, *report.Epsilon)
			require.False(t, report.Releasable, "seeded")
			require.Empty(t, report.Labels)

			info, err := os.Stat(labels)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
			file, err := os.ReadFile(labels)
			require.NoError(t, err)
			rows, err := csv.NewReader(strings.NewReader(string(file))).ReadAll()
			require.NoError(t, err)
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
	file, err := os.ReadFile(model)
	require.NoError(t, err)
	damaged, never := filepath.Join(dir, "damaged.model"), filepath.Join(dir, "never.csv")
	file[len(file)/2] ^= 1
	require.NoError(t, os.WriteFile(damaged, file, 0o600))
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no model":     {nil, shell.ExitUsage, "nothing was given"},
		"no file":      {[]string{filepath.Join(dir, "none"), "--data", data}, shell.ExitInvalidInput, "no such file"},
		"damaged":      {[]string{damaged, "--data", data}, shell.ExitInvalidInput, "damaged"},
		"not a model":  {[]string{filepath.Join(data, "t10k-labels-idx1-ubyte"), "--data", data}, shell.ExitInvalidInput, "is an idx file, as those of MNIST, not a model"},
		"other images": {[]string{model, "--data", larger}, shell.ExitInvalidInput, "images of 16x16, these are 17x17"},
		"no data":      {[]string{model, "--data", filepath.Join(dir, "none")}, shell.ExitInvalidInput, ""},
		"split":        {[]string{model, "--data", data, "--split", "magic"}, shell.ExitUsage, "--split"},
		"itself":       {[]string{model, "--data", data, "--out", model}, shell.ExitUsage, "the model itself"},
		"no folder":    {[]string{model, "--data", data, "--out", filepath.Join(dir, "none", "a.csv")}, shell.ExitInvalidInput, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"dpsgd", "predict"}, c.args...)
			if c.args != nil && !strings.Contains(strings.Join(args, " "), "--out") {
				args = append(args, "--out", never)
			}
			out, errs := typed(t, c.code, args...)
			require.Empty(t, out)
			require.Contains(t, errs, c.says)
			require.LessOrEqual(t, strings.Count(errs, "\n"), 4, errs)
			require.NoFileExists(t, never)
		})
	}
}

// A model of a table answers about its test rows as it did, and about new rows with
// their columns in any order, with labels or without.
func TestPredictOnTables(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "blobs.csv")
	blobs(t, data, 900)
	model, row := trainedOn(t, data, "--label", "kind", "--unit", "who", "--unit-name", "person")
	ask := func(code int, args ...string) (predicted, string) {
		text, errs := typed(t, code, append([]string{"dpsgd", "predict", model, "--format", "json"}, args...)...)
		var r predicted
		if code == shell.ExitDone {
			require.NoError(t, json.Unmarshal([]byte(text), &r))
		}
		return r, errs
	}
	scored, _ := ask(shell.ExitDone, "--data", data, "--label", "kind", "--unit", "who", "--scored")
	require.Equal(t, row.Accuracy, *scored.Accuracy)
	require.Equal(t, "person", scored.Unit)
	all, _ := ask(shell.ExitDone, "--data", data, "--label", "kind")
	require.Equal(t, 900, all.Rows)
	require.Equal(t, "1", all.Labels[0].Row)
	require.Greater(t, *all.Accuracy, 0.6)

	file, err := os.ReadFile(data)
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(file))).ReadAll()
	require.NoError(t, err)
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
	unlabelled, _ := ask(shell.ExitDone, "--data", fresh)
	require.Nil(t, unlabelled.Accuracy)
	require.Equal(t, all.Labels, unlabelled.Labels)
	_, errs := ask(shell.ExitInvalidInput, "--data", fresh, "--label", "colour", "--scored")
	require.Contains(t, errs, "is not the table")
	write(2, 0)
	_, errs = ask(shell.ExitInvalidInput, "--data", fresh)
	require.Contains(t, errs, `has no column "width"`)
	_, errs = ask(shell.ExitInvalidInput, "--data", "mnist", "--scored")
	require.Contains(t, errs, "these are images")
}
