package dataset

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
)

func randomTable(rows, units int) *Table {
	rnd := rand.New(rand.NewPCG(1, 2))
	t := &Table{Name: "random", Columns: []Column{{"n", nil}, {"c", nil}, {"m", nil}}, Labels: []string{"a", "b", "c"}}
	for range rows {
		t.Columns[0].Values = append(t.Columns[0].Values, fmt.Sprint(rnd.NormFloat64()))
		t.Columns[1].Values = append(t.Columns[1].Values, string('p'+rune(rnd.IntN(4))))
		t.Columns[2].Values = append(t.Columns[2].Values, []string{"1", "2", ""}[rnd.IntN(3)])
		t.Y = append(t.Y, rnd.IntN(3))
		t.Units = append(t.Units, fmt.Sprint("unit ", rnd.IntN(units)))
	}
	return t
}

func unitSet(s Set) map[string]bool {
	out := map[string]bool{}
	for _, u := range s.Units {
		out[u] = true
	}
	return out
}

func TestSplitTableKeepsUnitsTogether(t *testing.T) {
	table := randomTable(6000, 2000)
	lit := testkit.Must(splitTable(table, Literature, nil, nil))
	dev := testkit.Must(splitTable(table, Development, nil, nil))
	for rows, task := range map[int]Task{table.Len(): lit, lit.Private.Len(): dev} {
		private, pool, test := unitSet(task.Private), unitSet(task.Pool), unitSet(task.Test)
		assert.Equal(t, rows, task.Private.Len()+task.Pool.Len()+task.Test.Len())
		all := maps.Clone(private)
		maps.Copy(all, pool)
		maps.Copy(all, test)
		assert.Len(t, all, len(private)+len(pool)+len(test), "no unit is on two sides")
		// About 1900 (literature) and 1330 (development) units: 5 standard deviations of a binomial share
		// are at most 0.063. The split is fixed, so there is no false alarm beyond the first run.
		for want, part := range map[float64]Set{0.7: task.Private, 0.2: task.Pool, 0.1: task.Test} {
			assert.InDelta(t, want, float64(len(unitSet(part)))/float64(len(all)), 0.063)
		}
		if rows == lit.Private.Len() { // Development never uses rows that score
			assert.Equal(t, unitSet(lit.Private), all)
		}
	}
	// The order of rows moves no unit.
	order := rand.New(rand.NewPCG(3, 4)).Perm(table.Len())
	shuffled := testkit.Must(splitTable(table.Rows(order), Literature, nil, nil))
	assert.Equal(t, unitSet(lit.Pool), unitSet(shuffled.Pool))
	assert.Equal(t, unitSet(lit.Test), unitSet(shuffled.Test))
}

func TestReleasedIDsDoNotDependOnPrivateRows(t *testing.T) {
	table := randomTable(300, 300)
	whole := testkit.Must(splitTable(table, Literature, nil, nil))
	for part, set := range map[string]Set{"private": whole.Private, "pool": whole.Pool, "test": whole.Test} {
		for i, id := range set.IDs {
			require.Equal(t, fmt.Sprint(part, "/", i), id)
		}
	}
	rest := slices.DeleteFunc(upTo(table.Len()), func(i int) bool { return table.Units[i] == whole.Private.Units[0] })
	less := testkit.Must(splitTable(table.Rows(rest), Literature, nil, nil))
	require.Less(t, less.Private.Len(), whole.Private.Len())
	assert.Equal(t, whole.Pool, less.Pool)
	assert.Equal(t, whole.Test, less.Test)
}

func TestEqualRowsAreOnOneSide(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		for range 1 + i%5 {
			fmt.Fprintf(&text, "%d,%c\n", i, 'a'+rune(i%3))
		}
	}
	table := testkit.Must(readCSV(strings.NewReader(text.String()), "f.csv", CSVOptions{Header: HeaderNo}))
	for _, p := range []Protocol{Literature, Development} {
		task := testkit.Must(splitTable(table, p, nil, nil))
		side := map[string]string{}
		for part, set := range map[string]Set{"private": task.Private, "pool": task.Pool, "test": task.Test} {
			assert.Len(t, unitSet(set), set.Len(), "copies are units of their own")
			for _, u := range set.Units {
				content := u[:strings.LastIndex(u, "/")]
				if before := side[content]; before != "" {
					require.Equal(t, before, part, content)
				}
				side[content] = part
			}
		}
	}
}

func TestSplitTableRefuses(t *testing.T) {
	testkit.ErrorAs[*fault.Error](t, testkit.Err(splitTable(randomTable(50, 1), Literature, nil, nil)))
	assert.ErrorContains(t, testkit.Err(splitTable(randomTable(50, 50), "other", nil, nil)), `unknown protocol "other"`)
}

func TestImageSplits(t *testing.T) {
	d := imageData(6000, 1000)
	train, test := d.Train, d.Test
	lit := testkit.Must(d.Task(Literature))
	dev := testkit.Must(d.Task(Development))
	for _, c := range []struct {
		set         Set
		rows        int
		first, last string
	}{
		{lit.Private, 6000, "train/0", "train/5999"}, {lit.Pool, 900, "test/0", "test/899"}, {lit.Test, 100, "test/900", "test/999"},
		{dev.Private, 5000, "train/0", "train/4999"}, {dev.Pool, 900, "train/5000", "train/5899"}, {dev.Test, 100, "train/5900", "train/5999"},
	} {
		assert.Equal(t, c.rows, c.set.Len())
		assert.Equal(t, c.rows, c.set.X.Rows)
		assert.Equal(t, []string{c.first, c.last}, []string{c.set.Units[0], c.set.Units[c.rows-1]})
	}
	assert.Equal(t, test.X.Data[900*6:901*6], lit.Test.X.Data[:6])
	full := testkit.Must(d.Task(FullTest))
	assert.Equal(t, []int{5000, 1000, 1000}, []int{full.Private.Len(), full.Pool.Len(), full.Test.Len()})
	assert.Equal(t, train.X.Data[4999*6:5000*6], full.Private.X.Data[4999*6:])
	assert.Equal(t, train.X.Data[5000*6:], full.Pool.X.Data[:1000*6])
	assert.Equal(t, test.X.Data, full.Test.X.Data[:1000*6])
	assert.Equal(t, test.Y, full.Test.Y)
	assert.Equal(t, full.Test.X.Data[:6], full.WithoutPool().Test.X.Data[:6], "rows of the pool are training rows")
	assert.Equal(t, 1000, full.WithoutPool().Test.Len())
	assert.ErrorContains(t, testkit.Err(Data{Name: "a table", Table: randomTable(100, 100)}.Task(FullTest)), "no test set of its own")
	assert.Error(t, testkit.Err(d.Task("other")))
	tiny := testkit.Must(train.Slice(0, 3))
	assert.ErrorContains(t, testkit.Err(splitImages(tiny, tiny, Development)), "too few")
}

func TestHashSeesEveryPart(t *testing.T) {
	fresh := func() Set {
		return testkit.Must(splitTable(randomTable(100, 100), Literature, nil, nil)).Private
	}
	base := fresh()
	seen := map[[32]byte]string{base.Hash(): "the original"}
	for name, edit := range map[string]func(*Set){
		"one feature":  func(s *Set) { s.X.Data[len(s.X.Data)-1] += 1e-3 },
		"one label":    func(s *Set) { s.Y[3] = (s.Y[3] + 1) % 3 },
		"one unit":     func(s *Set) { s.Units[0] += "x" },
		"units' edges": func(s *Set) { s.Units[0], s.Units[1] = s.Units[0]+s.Units[1][:1], s.Units[1][1:] },
		"class name":   func(s *Set) { s.Classes = []string{"a", "b", "d"} },
		"image shape":  func(s *Set) { s.Image = Shape{Rows: 1, Cols: s.X.Cols} },
		"fewer rows":   func(s *Set) { *s, _ = s.Slice(1, s.Len()) },
	} {
		s := fresh()
		edit(&s)
		h := s.Hash()
		assert.Empty(t, seen[h], name)
		seen[h] = name
	}
	// Names and stride do not count.
	wide := fresh()
	wide.Name, wide.Provenance = "other", "elsewhere"
	data := make([]float32, wide.X.Rows*(wide.X.Cols+2))
	for i := range wide.X.Rows {
		copy(data[i*(wide.X.Cols+2):], wide.X.Data[i*wide.X.Stride:i*wide.X.Stride+wide.X.Cols])
	}
	wide.X.Stride, wide.X.Data = wide.X.Cols+2, data
	assert.Equal(t, base.Hash(), wide.Hash())
	assert.Equal(t, base.Hash(), fresh().Hash())

	a := Task{Private: base, Pool: base, Test: base}
	b := a
	b.Pool.Y = append([]int(nil), base.Y...)
	assert.Equal(t, a.Hash(), b.Hash())
	b.Pool.Y[0] = (b.Pool.Y[0] + 1) % 3
	assert.NotEqual(t, a.Hash(), b.Hash())
}

func TestValidateAndSliceRefuse(t *testing.T) {
	task := testkit.Must(splitTable(randomTable(100, 100), Literature, nil, nil))
	for name, edit := range map[string]func(*Set){
		"label":    func(s *Set) { s.Y = slices.Clone(s.Y); s.Y[0] = 3 },
		"unit":     func(s *Set) { s.Units = s.Units[1:] },
		"no unit":  func(s *Set) { s.Units = slices.Clone(s.Units); s.Units[2] = "" },
		"infinite": func(s *Set) { s.X.Data = slices.Clone(s.X.Data); s.X.Data[1] /= 0 },
		"short":    func(s *Set) { s.X.Data = s.X.Data[1:] },
		"shape":    func(s *Set) { s.Image = Shape{Rows: 7, Cols: 7} },
		"stride":   func(s *Set) { s.X.Stride-- },
		"classes":  func(s *Set) { s.Classes = s.Classes[:1] },
	} {
		s := task.Private
		edit(&s)
		assert.Error(t, s.Validate(), name)
	}
	for _, r := range [][2]int{{-1, 2}, {3, 2}, {0, task.Pool.Len() + 1}} {
		assert.Error(t, testkit.Err(task.Pool.Slice(r[0], r[1])))
	}
}

// The first tenth of the rows, the negative control, pulls in the row after it.
func TestSampleOfANeighbourIsANeighbour(t *testing.T) {
	whole := testkit.Must(splitTable(randomTable(400, 400), Literature, nil, nil)).Private
	sample := func(s Set) map[string]bool { return unitSet(testkit.Must(s.Sample(0.1))) }
	tenth := func(s Set) map[string]bool { return unitSet(testkit.Must(s.Slice(0, whole.Len()/10))) }
	all, first := sample(whole), tenth(whole)
	pulledIn := false
	for i := range whole.Len() {
		less := whole.rows(slices.Delete(upTo(whole.Len()), i, i+1))
		for u := range sample(less) {
			assert.True(t, all[u], "%s came in without row %d", u, i)
		}
		for u := range tenth(less) {
			pulledIn = pulledIn || !first[u]
		}
	}
	assert.True(t, pulledIn, "the control must fail")
}

func TestSampleKeepsWholeUnitsAndAllFields(t *testing.T) {
	s := testkit.Must(splitTable(randomTable(9000, 3000), Literature, nil, nil)).Private
	s.Image = Shape{Rows: 1, Cols: s.X.Cols}
	before := s.Hash()
	got := testkit.Must(s.Sample(0.1))
	require.NoError(t, got.Validate())
	assert.Equal(t, []any{s.Name, s.Classes, s.Image, s.Provenance}, []any{got.Name, got.Classes, got.Image, got.Provenance})

	// About 2000 units: 5 standard deviations are 0.034.
	kept := unitSet(got)
	assert.InDelta(t, 0.1, float64(len(kept))/float64(len(unitSet(s))), 0.034)
	want := s.rows(slices.DeleteFunc(upTo(s.Len()), func(i int) bool { return !kept[s.Units[i]] }))
	assert.Equal(t, []any{want.IDs, want.Units, want.Y, want.X}, []any{got.IDs, got.Units, got.Y, got.X})

	got.X.Data[0]++
	got.Y[0]++
	got.Units[0] += "x"
	assert.Equal(t, before, s.Hash(), "rows are copied")

	assert.Equal(t, before, testkit.Must(s.Sample(1)).Hash())
	for _, fraction := range []float64{0, -1, 1.1, math.NaN(), math.Inf(1)} {
		assert.ErrorContains(t, testkit.Err(s.Sample(fraction)), "fraction")
	}
}

// visits returns rows of units with one to nine rows each, in a random order, and without one of the units
// if without names it.
func visits(seed uint64, without string) Set {
	s := Set{Name: "visits", X: blas32.General{Cols: 2, Stride: 2}, Classes: []string{"a", "b"}}
	rnd := rand.New(rand.NewPCG(seed, 1))
	for u := range 40 {
		for v := range 1 + u%9 {
			s.X.Data = append(s.X.Data, float32(u), float32(v/2)) // some rows are equal
			s.Y = append(s.Y, v%4/3)
			s.Units = append(s.Units, fmt.Sprint("unit ", u))
			s.IDs = append(s.IDs, fmt.Sprint(u, "/", v))
		}
	}
	s.X.Rows = len(s.Y)
	var order []int
	for _, i := range rnd.Perm(len(s.Y)) {
		if s.Units[i] != without {
			order = append(order, i)
		}
	}
	return s.rows(order)
}

func byUnit(t *testing.T, s Set, ends []int) map[string]string {
	kept, from := map[string]string{}, 0
	for _, end := range ends {
		require.Greater(t, end, from)
		for i := from; i < end; i++ {
			require.Equal(t, s.Units[from], s.Units[i], "rows of a unit stand together")
			kept[s.Units[i]] += fmt.Sprint(s.X.Data[2*i:2*i+2], s.Y[i])
		}
		from = end
	}
	require.Equal(t, s.Len(), from)
	return kept
}

// TestPerUnitDependsOnTheUnitAlone: the order of the file and other units change nothing about the rows
// that a unit keeps, and another key does.
func TestPerUnitDependsOnTheUnitAlone(t *testing.T) {
	of := func(seed uint64, without, key string) map[string]string {
		set, ends := visits(seed, without).PerUnit(3, []byte(key))
		return byUnit(t, set, ends)
	}
	want := of(1, "", "key")
	require.Len(t, want, 40)
	require.Equal(t, want, of(2, "", "key"), "another order")
	less := of(3, "unit 17", "key")
	require.NotContains(t, less, "unit 17")
	less["unit 17"] = want["unit 17"]
	require.Equal(t, want, less, "a unit less")
	require.NotEqual(t, want, of(1, "", "other key"))

	all, ends := visits(1, "").PerUnit(256, []byte("key"))
	require.Equal(t, visits(1, "").Len(), all.Len())
	require.Len(t, ends, 40)
	for most := 1; most <= 3; most++ {
		_, ends := visits(1, "").PerUnit(most, []byte("key"))
		from := 0
		require.True(t, slices.IsSorted(ends))
		for _, end := range ends {
			require.LessOrEqual(t, end-from, most)
			from = end
		}
	}
}

// TestStoredCellsAreTheCells: a table that Open reads for a split has the cells of ReadTable, and every part its features.
func TestStoredCellsAreTheCells(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	text := "n,word,gap,y\n"
	for i := range 3000 {
		word := strings.Repeat("ab", rnd.IntN(3))
		if i == 1234 {
			word = strings.Repeat("long ", 1<<16) // several bytes of length, and a chunk that is full early
		}
		text += fmt.Sprintf("%.*f,%s,%s,%d\n", rnd.IntN(9), rnd.NormFloat64(), word, []string{"?", "none", "7"}[rnd.IntN(3)], rnd.IntN(2))
	}
	opt := CSVOptions{Label: "y", Missing: []string{"none"}}
	path := testkit.Write(t, filepath.Join(t.TempDir(), "t.csv"), []byte(text))
	plain, data := testkit.Must(ReadTable(path, opt)), testkit.Must(Open(path, Options{CSV: opt}))
	require.Nil(t, data.Table.Columns[0].Values)
	require.Equal(t, plain.Columns, data.Table.Rows(upTo(plain.Len())).Columns)
	some := []int{7, 1234, 2999, 7}
	require.Equal(t, plain.Rows(some).Columns, data.Table.Rows(some).Columns)
	task := testkit.Must(data.Task(Literature))
	require.Equal(t, testkit.Must(Data{Name: "t", Table: plain}.Task(Literature)).Hash(), task.Hash())
	require.Equal(t, testkit.Must(task.Encoder.Encode(plain.Rows(some))), testkit.Must(task.Encoder.Encode(data.Table.Rows(some))))
	require.Equal(t, testkit.Must(task.Encoder.EncodeByName(plain)), testkit.Must(task.Encoder.EncodeByName(data.Table)))
}

// TestUnitsAreAcceptedWhileRead: units of the first rows are counted before the table is complete, once each.
func TestUnitsAreAcceptedWhileRead(t *testing.T) {
	for _, unit := range []string{"", "u"} {
		var text strings.Builder
		text.WriteString("u,x,y\n")
		for i := range 2*acceptEvery + 5 {
			fmt.Fprintf(&text, "%d,%d,%d\n", i/2, i%7, i%2)
		}
		path := testkit.Write(t, filepath.Join(t.TempDir(), "t.csv"), []byte(text.String()))
		var counts []int
		opt := Options{CSV: CSVOptions{Label: "y", Unit: unit, Accept: func(units int, all bool) error {
			require.Equal(t, len(counts) == 2, all)
			counts = append(counts, units)
			return nil
		}}}
		task := testkit.Must(testkit.Must(Open(path, opt)).Task(Literature))
		n := task.Private.UnitCount()
		require.Equal(t, n, counts[2])
		require.InDelta(t, n, counts[1], 5)
		require.InDelta(t, n/2, counts[0], 0.01*float64(n))
		opt.CSV.Accept = func(int, bool) error { return fs.ErrPermission }
		require.ErrorIs(t, testkit.Err(Open(path, opt)), fs.ErrPermission)
	}
}
