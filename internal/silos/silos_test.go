package silos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// hospitals writes tables of silos with the patients given by their numbers, and the public table, into a
// new folder. Each patient has one to three rows.
func hospitals(t *testing.T, patients ...[]int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	table := func(name string, ids []int, labelled bool) {
		var b strings.Builder
		b.WriteString("x,y,colour" + map[bool]string{true: ",who,kind"}[labelled] + "\n")
		for _, id := range ids {
			rnd := rand.New(rand.NewPCG(uint64(id), 3))
			for range 1 + id%3 {
				class := rnd.IntN(3)
				fmt.Fprintf(&b, "%.3f,%.3f,%c", float64(class)+rnd.NormFloat64(), rnd.NormFloat64(), 'r'+rune(class%2))
				if labelled {
					fmt.Fprintf(&b, ",p%d,%c", id, 'a'+rune(class))
				}
				b.WriteString("\n")
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o600))
	}
	table("public.csv", numbers(1000, 1060), false)
	for i, ids := range patients {
		table(fmt.Sprintf("s%d.csv", i), ids, true)
	}
	return dir
}

func numbers(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// cast casts the votes of silo i and writes them, with a manifest if there is a salt.
func cast(t *testing.T, dir string, i int, salt manifest.Salt, change func(*Casting)) (*Counts, string) {
	t.Helper()
	c := Casting{Private: dataset.Source{Path: fmt.Sprintf("%s/s%d.csv", dir, i)}, Public: dataset.Source{Path: dir + "/public.csv"},
		Reading: dataset.Reading{CSV: dataset.CSVOptions{Label: "kind", Unit: "who"}, Rule: dataset.ClassRule{Names: []string{"a", "b", "c"}}},
		Unit:    "patient", Votes: 3, Questions: 20, Silo: fmt.Sprint("hospital ", i)}
	if change != nil {
		change(&c)
	}
	counts, units, err := Cast(t.Context(), c)
	require.NoError(t, err)
	path := fmt.Sprintf("%s/s%d.counts", dir, i)
	var text bytes.Buffer
	require.NoError(t, counts.Write(&text))
	require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
	if !salt.IsZero() {
		text.Reset()
		require.NoError(t, counts.WriteUnits(&text, salt, units))
		require.NoError(t, os.WriteFile(manifest.Beside(path), text.Bytes(), 0o600))
	}
	return counts, path
}

func book(dir string) run.File {
	return run.File{Path: dir + "/run.jsonl", New: ledger.Config{Unit: "patient", Relation: accountant.AddRemove, Epsilon: 3, Delta: 1e-5,
		Mode: ledger.Reserved, Accountant: accountant.ByAuto}, Expect: run.Expect{Relation: accountant.AddRemove}}
}

// Counts of seven silos add up to the counts of one table, byte for byte, and so do their files: in every
// order the sum is released as the table is, with the same noise and charge.
func TestSilosAddUpToOneTable(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var parts [][]int
	for i := range 7 {
		parts = append(parts, numbers(10*i, 10*i+3+i))
	}
	dir := hospitals(t, append(parts, slices.Concat(parts...))...)
	salt := testkit.Must(manifest.NewSalt())
	var paths []string
	for i := range 7 {
		_, path := cast(t, dir, i, salt, func(c *Casting) { c.Size = 5 })
		paths = append(paths, path)
	}
	whole, path := cast(t, dir, 7, manifest.Salt{}, nil)
	rand.New(rand.NewPCG(1, 1)).Shuffle(7, func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	sum, one := testkit.Must(Add(paths)), testkit.Must(Add([]string{path}))
	require.Equal(t, 35, sum.Size)
	require.Equal(t, whole.Cells, sum.Cells)
	require.EqualValues(t, 42, one.units())
	require.Equal(t, one.Asked, sum.Asked)
	require.Equal(t, testkit.Must(one.hash()), testkit.Must(sum.hash()))
	seed := uint64(5)
	var files [][]byte
	for i, s := range []*Sum{sum, one} {
		f := book(t.TempDir())
		out := fmt.Sprintf("%s/%d.csv", dir, i)
		r := testkit.Must(Release(t.Context(), Config{Sum: s, Ledger: f, Out: out, Seed: &seed}))
		require.InDelta(t, 3, r.Epsilon, 0.01)
		require.LessOrEqual(t, r.Epsilon, 3.0)
		files = append(files, testkit.Must(os.ReadFile(out)))
	}
	require.Equal(t, string(files[0]), string(files[1]))
	require.Regexp(t, `^query,label_not_releasable,votes a,votes b,votes c\n\d+,[abc],-?\d+,-?\d+,-?\d+\n`, string(files[0]))
}

// Other counts, of one vote more, are another run, with a charge of their own.
func TestOtherCountsAreAnotherRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := hospitals(t, numbers(0, 9), numbers(0, 10))
	f := book(dir)
	f.New.Mode, f.New.Accountant = ledger.Filter, ""
	c := Config{Sigma: 20, Ledger: f, SilosPerUnit: 1}
	var sums []*Sum
	for i := range 2 {
		_, path := cast(t, dir, i, manifest.Salt{}, nil)
		sums = append(sums, testkit.Must(Add([]string{path})))
		c.Sum, c.Out = sums[i], fmt.Sprintf("%s/%d.csv", dir, i)
		r := testkit.Must(Release(t.Context(), c))
		require.EqualValues(t, i+1, r.Entry)
		require.False(t, r.Resumed)
		r = testkit.Must(Release(t.Context(), c))
		require.True(t, r.Resumed && r.Complete, "a repetition is checked")
		require.EqualValues(t, i+1, r.Entry)
	}
	require.NotEqual(t, testkit.Must(sums[0].hash()), testkit.Must(sums[1].hash()))
	c.Sigma = 21
	require.ErrorIs(t, testkit.Err(Release(t.Context(), c)), run.ErrOtherRun)
}

// declared reads the public table as rows that are drawn from ranges.
func declared(c *Casting) {
	path := filepath.Dir(c.Public.Path) + "/ranges.csv"
	testkit.Must(0, os.WriteFile(path, []byte("x,-9.0..9.0\ny,-9.0..9.0\ncolour,r,s\n"), 0o600))
	c.Reading.Ranges = testkit.Must(dataset.ReadRanges(path))
}

// Drawn questions with few noisy votes have no label, and a repetition counts the same labels.
func TestDrawnQuestions(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, seed := hospitals(t, numbers(0, 40)), uint64(1)
	_, path := cast(t, dir, 0, manifest.Salt{}, func(c *Casting) { c.Questions = 80; declared(c) })
	c := Config{Sum: testkit.Must(Add([]string{path})), Sigma: 5, Ledger: book(dir), Out: dir + "/labels.csv", Seed: &seed}
	for range 2 {
		r := testkit.Must(Release(t.Context(), c))
		none := strings.Count(string(testkit.Must(os.ReadFile(c.Out))), ",,")
		require.Equal(t, []int{80, 80 - none, none}, []int{r.Asked, r.Answered, r.Declined})
		require.Positive(t, none)
		require.LessOrEqual(t, none, 50, "ten labels for each class are kept")
	}
}

// A run that is stopped anywhere ends with the same labels, and is charged once.
func TestAStoppedReleaseResumes(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, seed, stop := hospitals(t, numbers(0, 9)), uint64(2), errors.New("stop")
	_, path := cast(t, dir, 0, manifest.Salt{}, nil)
	sum, want := testkit.Must(Add([]string{path})), ""
	for at := 0; ; at++ {
		f, n := book(t.TempDir()), 0
		c := Config{Sum: sum, Ledger: f, Out: filepath.Dir(f.Path) + "/labels.csv", Seed: &seed}
		_, err := Release(crash.With(t.Context(), func(string) error {
			if n++; n == at {
				return stop
			}
			return nil
		}), c)
		r := testkit.Must(Release(t.Context(), c))
		require.EqualValues(t, 1, r.Entry)
		text := string(testkit.Must(os.ReadFile(c.Out)))
		if want == "" {
			want = text
		}
		require.Equal(t, want, text)
		if at > 0 && err == nil {
			require.Greater(t, at, 5)
			return
		}
	}
}

// What is refused is refused before a ledger exists: silos that may share a patient, or that differ.
func TestRefusals(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	salt := testkit.Must(manifest.NewSalt())
	for name, c := range map[string]struct {
		salts    int
		shared   bool
		change   func(*Casting) // of the second silo
		after    func(t *testing.T, paths []string)
		declared int
		says     string
	}{
		"no proof":             {salts: 1, says: "silos may share a patient"},
		"declared":             {declared: 1},
		"proved":               {salts: 2},
		"a shared patient":     {salts: 2, shared: true, says: "a patient is in 2 silos, not in at most 1; silos share 1"},
		"and declared as none": {salts: 2, shared: true, declared: 1, says: "a patient is in 2 silos"},
		"and declared":         {salts: 2, shared: true, declared: 2},
		"votes":                {declared: 1, change: func(c *Casting) { c.Votes = 4 }, says: "differs from .* in votes of a unit$"},
		"questions":            {declared: 1, change: func(c *Casting) { c.Questions = 19 }, says: "number of questions, questions"},
		"classes":              {declared: 1, change: func(c *Casting) { c.Reading.Rule.Names = []string{"c", "b", "a"} }, says: "in classes$"},
		"unit":                 {declared: 1, change: func(c *Casting) { c.Unit = "user" }, says: "in unit$"},
		"features of own rows": {declared: 1, change: func(c *Casting) { c.Public.Path = c.Private.Path; c.Questions = 8 }, says: "public rows, features"},
		"ranges":               {declared: 1, change: declared, says: "public rows, features, questions, ranges$"},
		"columns":              {declared: 1, change: func(c *Casting) { c.Reading.CSV.Drop = []string{"y"} }, says: "public rows, features"},
		"one silo twice":       {declared: 1, change: func(c *Casting) { c.Silo = "hospital 0" }, says: "the same silo"},
		"a vote more of each than stated": {salts: 2, change: func(c *Casting) { c.Votes = 4 }, says: "does not list the units that voted",
			after: func(t *testing.T, paths []string) { // 36 votes, as of 12 units and not of 9
				text := testkit.Must(os.ReadFile(paths[1]))
				require.NoError(t, os.WriteFile(paths[1], bytes.Replace(text, []byte(`"votes":4`), []byte(`"votes":3`), 1), 0o600))
			}},
		"units of others": {salts: 2, says: "does not list the units that voted", after: func(t *testing.T, paths []string) {
			counts, _ := testkit.Must2(open(paths[1]))
			var b bytes.Buffer
			require.NoError(t, counts.WriteUnits(&b, salt, []string{"x"}))
			require.NoError(t, os.WriteFile(manifest.Beside(paths[1]), b.Bytes(), 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			others := numbers(20, 29)
			if c.shared {
				others = append(others, 3)
			}
			dir := hospitals(t, numbers(0, 9), others)
			var paths []string
			for i := range 2 {
				s, change := manifest.Salt{}, c.change
				if i < c.salts {
					s = salt
				}
				if i == 0 {
					change = nil
				}
				_, path := cast(t, dir, i, s, change)
				paths = append(paths, path)
			}
			if c.after != nil {
				c.after(t, paths)
			}
			sum, err := Add(paths)
			f := book(dir)
			if err == nil {
				_, err = Release(t.Context(), Config{Sum: sum, SilosPerUnit: c.declared, Ledger: f, Out: dir + "/labels.csv"})
			}
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			what, _, _ := strings.Cut(err.Error(), ";")
			if strings.Contains(c.says, "silos share") {
				what = err.Error()
			}
			require.Regexp(t, c.says, what)
			require.NoFileExists(t, f.Path)
		})
	}
}

// One patient goes: the release of the silos' sum, exact over the counts that move, is within the claim,
// and a patient of two silos within that for two. Controls: a patient of two silos charged as of one, and
// a vote more than is charged.
func TestWorldsOfSilos(t *testing.T) {
	const sigma, reach = 1.2, 16
	noise := testkit.Must(rng.NewDiscreteGaussian(sigma))
	dir := hospitals(t, []int{1, 2, 3}, []int{3, 4, 5}, []int{1, 2}, []int{4, 5}, []int{2, 3})
	cells := func(i, votes int) []int64 {
		c, _ := cast(t, dir, i, manifest.Salt{}, func(c *Casting) { c.Votes, c.Questions = votes, 4 })
		return c.Cells
	}
	// excess returns the divergence of the releases of two sums, at order 3, over the claim.
	excess := func(with, without []int64, votes, silos int) float64 {
		total := 0.0
		for i := range with {
			if d := with[i] - without[i]; d != 0 {
				var p, q []float64
				for x := int64(-reach); x <= reach; x++ {
					p, q = append(p, math.Exp(noise.LogProb(x-d))), append(q, math.Exp(noise.LogProb(x)))
				}
				total += max(testkit.Renyi(p, q, 3), testkit.Renyi(q, p, 3))
			}
		}
		s := settings{Terms: Terms{Votes: votes, Questions: 4}, Sigma: sigma, SilosPerUnit: silos}
		claim, _ := testkit.Must2(accountant.Divergence(accountant.AddRemove, 3, testkit.Must(s.plan().Event())))
		return total / claim
	}
	add := func(a, b []int64) []int64 {
		out := slices.Clone(a)
		for i, v := range b {
			out[i] += v
		}
		return out
	}
	for _, votes := range []int{1, 2, 3} {
		first, second := cells(0, votes), cells(1, votes)
		with := add(first, second)
		require.InDelta(t, 1, excess(with, add(cells(4, votes), second), votes, 1), 1e-6, "patient 1 goes")
		gone := add(cells(2, votes), cells(3, votes)) // patient 3, of both silos
		require.LessOrEqual(t, excess(with, gone, votes, 2), 1+1e-9)
		require.Greater(t, excess(with, gone, votes, 1), 1.9, "control: two silos charged as one")
		require.Greater(t, excess(cells(0, votes+1), cells(4, votes+1), votes, 1), 1.3, "control: a vote is not charged")
	}
}

// Files that Write did not write, or whose counts contradict the number of votes, are refused.
func TestReadRefuses(t *testing.T) {
	dir := hospitals(t, numbers(0, 9))
	c, path := cast(t, dir, 0, manifest.Salt{}, nil)
	good := string(testkit.Must(os.ReadFile(path)))
	require.Equal(t, *c, *testkit.Must(Read(strings.NewReader(good))))
	head, body, _ := strings.Cut(good, "\n")
	line, rest, _ := strings.Cut(body, "\n")
	moved := func(change func([]int64)) string { // of counts
		other := *c
		other.Cells = slices.Clone(c.Cells)
		change(other.Cells)
		var b bytes.Buffer
		require.NoError(t, other.Write(&b))
		return b.String()
	}
	for name, text := range map[string]string{
		"empty": "", "no end": head, "cut off": good[:len(good)-9], "more": good + line + "\n",
		"a row twice": head + "\n" + line + "\n" + line + "\n" + rest,
		"another row": head + "\n9" + line + "\n" + rest, "a cell": head + "\n" + line + ",1\n" + rest, "a sign": head + "\n+" + line + "\n" + rest,
		"a blank": head + "\n " + line + "\n" + rest,
		"spaces":  strings.Replace(good, `,"unit"`, `, "unit"`, 1),
		"a key":   strings.Replace(good, `"unit"`, `"x":1,"unit"`, 1),
		"public":  strings.Replace(good, "true", "false", 1), "schema": strings.Replace(good, "silo/1", "silo/2", 1),
		"no votes":                  strings.Replace(good, `"votes":3`, `"votes":0`, 1),
		"more votes than questions": strings.Replace(good, `"votes":3`, `"votes":30`, 1),
		"huge":                      strings.Replace(good, `"questions":20`, `"questions":999999999999`, 1),
		"no classes":                strings.Replace(good, `["a","b","c"]`, `null`, 1), "negative": moved(func(v []int64) { v[0] = -1 }),
		"a vote more":           moved(func(v []int64) { v[slices.Index(v, 0)]++ }),
		"two votes of a unit":   moved(func(v []int64) { clear(v); v[0] = 27 }),
		"more than all numbers": moved(func(v []int64) { v[0], v[1] = maxVotes, maxVotes }),
	} {
		require.Error(t, testkit.Err(Read(strings.NewReader(text))), name)
	}
}

func FuzzRead(f *testing.F) {
	c := Counts{Head{schemaName, true, "a", 4, Terms{"patient", "p", "f", []string{"no", "yes"}, 1, 2, false, hashOfRows([]int{5, 3})}},
		[]int{5, 3}, []int64{1, 0, 0, 3}}
	var b bytes.Buffer
	require.NoError(f, c.Write(&b))
	f.Add(b.Bytes())
	c.Drawn = true
	f.Add(testkit.Must(json.Marshal(c.Head)))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, c.Write(&again))
		require.Equal(t, string(text), again.String(), "what is read is written the same again")
	})
}
