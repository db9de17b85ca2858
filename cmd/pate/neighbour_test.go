package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
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
)

// A neighbour has one unit more, one fewer or another one. Commands that release are run
// on neighbours, and everything they release must be the same, byte for byte, but for
// what was charged, which is masked.

// released runs a command in a folder of its own and returns everything it releases: what
// it prints, and every file that may leave: what is public, and ledgers. Of results that are not
// releasable, and of those of seeded runs, names and what anybody else could see are compared.
func released(t *testing.T, data map[string][]byte, args ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range data {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "DIR", dir)
	}
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, shell.ExitDone, code, "%s\n%s", args, &stderr)
	here := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(dir), []byte("DIR")) }
	out := map[string]string{"stdout": masked(t, "stdout.json", here(stdout.Bytes()))}
	secret := strings.Contains(out["stdout"], `"releasable": false`)
	if secret {
		out["stdout"] = "not for release"
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		require.NoError(t, err)
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		switch {
		case e.IsDir() && filepath.Base(filepath.Dir(path)) == "private" && e.Name() != "results" && e.Name() != "ledger":
			return filepath.SkipDir // secrets
		case filepath.Base(filepath.Dir(path)) == "private":
			return nil
		case e.IsDir() || data[filepath.ToSlash(name)] != nil:
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		info, err := e.Info()
		require.NoError(t, err)
		if secret && info.Mode().Perm() == 0o600 && filepath.Ext(name) != ".jsonl" {
			out[name] = "not for release"
			return nil
		}
		out[name] = fmt.Sprint(info.Mode(), " ", masked(t, path, here(text)))
		return nil
	}))
	return out
}

// same fails on the first file that differs.
func same(t *testing.T, want, got map[string]string, neighbour string) {
	t.Helper()
	for name, text := range want {
		require.Equal(t, text, got[name], "%s: %s", neighbour, name)
	}
	require.Len(t, got, len(want), neighbour)
}

// privateUnit is a name that the split of tables sends to the private side.
func privateUnit(n int) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("p%d.%d", n, i)
		mac := hmac.New(sha256.New, []byte("pate dataset split 1 literature"))
		mac.Write([]byte(name))
		if float64(binary.BigEndian.Uint64(mac.Sum(nil))>>11)/(1<<53) < 0.7 {
			return name
		}
	}
}

// people is a table of three classes, without a header if bare, with further rows on top,
// one in the middle.
func people(bare bool, further ...string) []byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	var rows []string
	for i := range 150 {
		class := i % 3
		rows = append(rows, fmt.Sprintf("%.2f,%.2f,%s,who%d,%c", 4*float64(class)+rnd.NormFloat64(), rnd.NormFloat64()-3*float64(class%2),
			[]string{"red", "blue"}[rnd.IntN(2)], i, 'a'+class))
	}
	for i, row := range further {
		rows = slices.Insert(rows, i*70%len(rows), row)
	}
	if !bare {
		rows = slices.Insert(rows, 0, "length,width,colour,who,kind")
	}
	return []byte(strings.Join(rows, "\n") + "\n")
}

// declared are ranges of the columns of people.
const declared = "length,-8.0..16.0\nwidth,-8.0..8.0\ncolour,red,blue\n"

// units are rows that one more person may have.
func units(unit string) map[string][]string {
	row := func(cells string) []string { return []string{strings.ReplaceAll(cells, "WHO", unit)} }
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("%d,1,red,%s,b", i, unit)
	}
	return map[string][]string{
		"new class":       row("1.00,2.00,red,WHO,rare"),
		"no class":        row("1.00,2.00,red,WHO,"),
		"hostile class":   row(`1.00,2.00,red,WHO,"=cmd|' /C calc'!A0, <b>"`),
		"new category":    row("1.00,2.00,ultraviolet,WHO,a"),
		"extreme":         row("1e308,-1e308,red,WHO,a"),
		"beyond float64":  row("1e999,-inf,red,WHO,a"),
		"empty text":      row(",,,WHO,a"),
		"not a number":    row("nan,NaN,NA,WHO,a"),
		"words":           row("word,0x1p-3,12,WHO,a"),
		"long text":       row("1.00,2.00," + strings.Repeat("x", 5000) + ",WHO,a"),
		"separators":      row(`"1;2;3","4	5",";",WHO,a`),
		"forty rows":      many,
		"like the header": row("length,width,colour,WHO,kind"),
	}
}

func TestNothingReleasedDependsOnOneUnit(t *testing.T) {
	unit := privateUnit(1)
	ordinary := strings.ReplaceAll("1.00,2.00,red,WHO,a", "WHO", unit)
	table := []string{"--data", "DIR/t.csv", "--label", "kind", "--unit", "who", "--delta", "1e-4", "--other-labels", "other", "--out", "DIR/run", "--format", "json"}
	bare := slices.Concat(table, []string{"--header", "no"})
	bare[3], bare[5] = "5", "4"
	for name, c := range map[string]struct {
		args []string
		bare bool
	}{
		"dpsgd":         {args: slices.Concat([]string{"dpsgd", "--steps", "6", "--epsilon", "1,4", "--seeds", "2"}, table)},
		"bare":          {args: slices.Concat([]string{"dpsgd", "--steps", "6"}, bare), bare: true},
		"drop":          {args: append(slices.Concat([]string{"dpsgd", "--steps", "6"}, table), "--other-labels", "drop")},
		"declared":      {args: append(slices.Concat([]string{"dpsgd", "--steps", "6"}, table), "--class-names", "a,b,c,d", "--other-labels", "d")},
		"tune":          {args: slices.Concat([]string{"tune", "--steps", "4", "--learning-rate", "0.5,1", "--law", "geometric", "--runs", "1.5", "--score", "private"}, table)},
		"labels":        {args: slices.Concat([]string{"compare", "--methods", "pate/gnmax", "--teachers", "12"}, table)},
		"nearest":       {args: slices.Concat([]string{"compare", "--methods", "pknn/reverse"}, table)},
		"near":          {args: slices.Concat([]string{"compare", "--methods", "pknn/sampled"}, table)},
		"marginals":     {args: slices.Concat([]string{"compare", "--methods", "pate/gnmax", "--teachers", "12", "--pool", "marginals", "--ranges", "DIR/ranges.csv"}, table)},
		"two classes":   {args: append(slices.Concat([]string{"compare", "--methods", "dpsgd/linear"}, table), "--class-names", "a,b", "--other-labels", "drop")},
		"linear models": {args: slices.Concat([]string{"compare", "--methods", "dpsgd/linear"}, table)},
	} {
		t.Run(name, func(t *testing.T) {
			on := func(further ...string) map[string]string {
				return released(t, map[string][]byte{"t.csv": people(c.bare, further...), "ranges.csv": []byte(declared)}, c.args...)
			}
			want := on(ordinary)
			require.Greater(t, len(want), 4)
			same(t, want, on(), "removed")
			for kind, rows := range units(unit) { // each alone: of several at once, effects may cancel
				same(t, want, on(rows...), kind)
			}
		})
	}
}

// Without --other-labels a label that no public row has is refused, and nothing is left
// that tells.
func TestARefusedLabelLeavesNothing(t *testing.T) {
	for _, label := range []string{"rare", ""} {
		dir := t.TempDir()
		file := filepath.Join(dir, "t.csv")
		require.NoError(t, os.WriteFile(file, people(false, "1.00,2.00,red,"+privateUnit(1)+","+label), 0o600))
		for _, command := range []string{"dpsgd", "compare"} {
			out, errs := typed(t, shell.ExitInvalidInput, command, "--data", file, "--label", "kind", "--unit", "who", "--delta", "1e-4", "--out", filepath.Join(dir, "run"))
			require.Empty(t, out)
			require.Contains(t, errs, "other-labels")
			require.NoDirExists(t, filepath.Join(dir, "run"))
		}
	}
}

// One image of the training file is another one, with a label that no test image has.
func TestNothingReleasedDependsOnOneImage(t *testing.T) {
	const side, train, test = 10, 40, 12
	folder := func(change func(images, labels []byte)) map[string][]byte {
		rnd := rand.New(rand.NewPCG(3, 4))
		files := map[string][]byte{}
		for prefix, n := range map[string]int{"train": train, "t10k": test} {
			r := rand.New(rand.NewPCG(uint64(n), rnd.Uint64()*0))
			images, labels := make([]byte, n*side*side), make([]byte, n)
			for i := range images {
				images[i] = byte(r.IntN(256))
			}
			for i := range labels {
				labels[i] = byte(i % 2)
			}
			if prefix == "train" {
				change(images, labels)
			}
			head := func(kind byte, sizes ...uint32) []byte {
				b := []byte{0, 0, 8, kind}
				for _, s := range sizes {
					b = binary.BigEndian.AppendUint32(b, s)
				}
				return b
			}
			files["images/"+prefix+"-images-idx3-ubyte"] = append(head(3, uint32(n), side, side), images...)
			files["images/"+prefix+"-labels-idx1-ubyte"] = append(head(1, uint32(n)), labels...)
		}
		return files
	}
	args := []string{"dpsgd", "--data", "DIR/images", "--delta", "1e-3", "--steps", "4", "--features", "hog", "--no-cache", "--other-labels", "other", "--out", "DIR/run", "--format", "json"}
	want := released(t, folder(func(_, _ []byte) {}), args...)
	for name, change := range map[string]func(images, labels []byte){
		"new class": func(_, labels []byte) { labels[7] = 200 },
		"black":     func(images, _ []byte) { clear(images[:side*side]) },
		"white":     func(images, _ []byte) { copy(images, bytes.Repeat([]byte{255}, side*side)) },
	} {
		same(t, want, released(t, folder(change), args...), name)
	}
}

// One teacher votes otherwise.
func TestNothingReleasedDependsOnOneTeacher(t *testing.T) {
	votes := func(of func(query int) string) []byte {
		rnd := rand.New(rand.NewPCG(7, 8))
		var text strings.Builder
		for q := range 20 {
			for teacher := range 60 {
				vote := fmt.Sprint(q % 3)
				if rnd.IntN(8) == 0 {
					vote = fmt.Sprint(rnd.IntN(3))
				}
				if teacher == 0 && of != nil {
					vote = of(q)
				}
				text.WriteString(strings.Repeat(",", min(teacher, 1)) + vote)
			}
			text.WriteString("\n")
		}
		return []byte(text.String())
	}
	common := []string{"DIR/v.csv", "--header", "no", "--classes", "3", "--teachers", "60", "--delta", "1e-4", "--epsilon", "9", "--ledger", "DIR/l.jsonl", "--format", "json"}
	for name, args := range map[string][]string{
		"gnmax":      slices.Concat([]string{"label"}, common, []string{"--mechanism", "gnmax", "--sigma", "20", "--out", "DIR/out.csv"}),
		"calibrated": slices.Concat([]string{"label"}, common, []string{"--mechanism", "lnmax", "--out", "DIR/out.csv"}),
		"release":    slices.Concat([]string{"analyze", "release"}, common, []string{"--mechanism", "gnmax", "--sigma", "20", "--out", "DIR/out.json"}),
	} {
		t.Run(name, func(t *testing.T) {
			want := released(t, map[string][]byte{"v.csv": votes(nil)}, args...)
			for unit, of := range map[string]func(int) string{
				"abstains":  func(int) string { return "" },
				"minus one": func(int) string { return "-1" },
				"another":   func(q int) string { return fmt.Sprint((q + 1) % 3) },
				"constant":  func(int) string { return "2" },
			} {
				same(t, want, released(t, map[string][]byte{"v.csv": votes(of)}, args...), unit)
			}
		})
	}
}

// One teacher's probabilities are others, and its votes too or not.
func TestNothingReleasedDependsOnTheProbabilitiesOfOneTeacher(t *testing.T) {
	files := func(of func(query int) string) map[string][]byte {
		out := map[string][]byte{}
		rnd := rand.New(rand.NewPCG(9, 10))
		for teacher := range 30 {
			var text strings.Builder
			for q := range 20 {
				row := [3]int{10, 10, 10}
				row[q%3] += 60 + rnd.IntN(11)
				row[rnd.IntN(3)] += 100 - row[0] - row[1] - row[2]
				line := fmt.Sprintf("0.%d,0.%d,0.%d", row[0], row[1], row[2])
				if teacher == 4 && of != nil {
					line = of(q)
				}
				text.WriteString(line + "\n")
			}
			out[fmt.Sprintf("p/%02d.csv", teacher)] = []byte(text.String())
		}
		return out
	}
	args := []string{"label", "DIR/p/*.csv", "--probabilities", "--classes", "3", "--teachers", "30", "--delta", "1e-4", "--epsilon", "9",
		"--ledger", "DIR/l.jsonl", "--format", "json", "--mechanism", "gnmax", "--sigma", "20", "--out", "DIR/out.csv"}
	want := released(t, files(nil), args...)
	for unit, of := range map[string]func(int) string{
		"sure":      func(q int) string { return [3]string{"1,0,0", "0,1,0", "0,0,1"}[q%3] },
		"another":   func(q int) string { return [3]string{"1,0,0", "0,1,0", "0,0,1"}[(q+1)%3] },
		"undecided": func(int) string { return "0.3333333333,0.3333333333,0.3333333334" },
		"rounded":   func(int) string { return "0.34,0.34,0.34" },
		"constant":  func(int) string { return "1e-9,0,0.999999999" },
	} {
		same(t, want, released(t, files(of), args...), unit)
	}
}

// What predict calls releasable are public rows: the private ones that the same file has
// besides change nothing, and asking about them is not releasable.
func TestPredictReleasesPublicRowsAlone(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "t.csv"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(file, people(false), 0o600))
	reading := []string{"--data", file, "--label", "kind", "--format", "json"}
	typed(t, shell.ExitDone, slices.Concat([]string{"dpsgd", "--unit", "who", "--delta", "1e-4", "--steps", "6", "--out", out}, reading)...)
	model := filepath.Join(out, "public", "models", "epsilon-2-run-0.model")
	ask := func(more ...string) (predicted, string) {
		text, _ := typed(t, shell.ExitDone, slices.Concat([]string{"dpsgd", "predict", model}, reading, more)...)
		var r predicted
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		return r, text
	}
	all, _ := ask()
	require.NotNil(t, all.Accuracy)
	require.False(t, all.Releasable, "rows of the training are among them")
	for format, mark := range map[string]string{"csv": ",false", "md": "| false ", "latex": "false"} {
		text, errs := typed(t, shell.ExitDone, slices.Concat([]string{"dpsgd", "predict", model}, reading, []string{"--format", format})...)
		require.Contains(t, text, mark)
		require.NotContains(t, text, "true")
		require.Contains(t, errs, "not releasable")
	}
	declared, _ := ask("--public-rows")
	require.True(t, declared.Releasable)
	scored, want := ask("--unit", "who", "--scored")
	require.True(t, scored.Releasable)
	for name, rows := range units(privateUnit(1)) {
		require.NoError(t, os.WriteFile(file, people(false, rows...), 0o600))
		_, text := ask("--unit", "who", "--scored")
		require.Equal(t, want, text, name)
	}
}
