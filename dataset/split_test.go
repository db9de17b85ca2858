package dataset

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
)

// randomTable has a numeric, a categorical and a partly missing column.
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
	lit, err := SplitTable(table, Literature)
	require.NoError(t, err)
	dev, err := SplitTable(table, Development)
	require.NoError(t, err)
	assert.Equal(t, table.Len(), lit.Private.Len()+lit.Pool.Len()+lit.Test.Len())
	assert.Equal(t, lit.Private.Len(), dev.Private.Len()+dev.Pool.Len()+dev.Test.Len())
	for _, task := range []Task{lit, dev} {
		private, pool, test := unitSet(task.Private), unitSet(task.Pool), unitSet(task.Test)
		for u := range private {
			assert.False(t, pool[u] || test[u], u)
		}
		for u := range pool {
			assert.False(t, test[u], u)
		}
		// About 1900 (literature) and 1330 (development) units: 5 standard
		// deviations of a binomial share are at most 0.063. The split is fixed, so
		// there is no false alarm beyond the first run.
		n := float64(len(private) + len(pool) + len(test))
		assert.InDelta(t, 0.7, float64(len(private))/n, 0.063)
		assert.InDelta(t, 0.2, float64(len(pool))/n, 0.063)
		assert.InDelta(t, 0.1, float64(len(test))/n, 0.063)
	}
	// Development never sees what scores.
	private := unitSet(lit.Private)
	for _, s := range []Set{dev.Private, dev.Pool, dev.Test} {
		for u := range unitSet(s) {
			assert.True(t, private[u], u)
		}
	}
	// The order of rows moves no unit.
	order := rand.New(rand.NewPCG(3, 4)).Perm(table.Len())
	shuffled, err := SplitTable(table.Rows(order), Literature)
	require.NoError(t, err)
	assert.Equal(t, unitSet(lit.Pool), unitSet(shuffled.Pool))
	assert.Equal(t, unitSet(lit.Test), unitSet(shuffled.Test))
}

// TestReleasedIDsDoNotDependOnPrivateRows: those of the pool stand in the file
// of released labels.
func TestReleasedIDsDoNotDependOnPrivateRows(t *testing.T) {
	table := randomTable(300, 300)
	whole, err := SplitTable(table, Literature)
	require.NoError(t, err)
	for part, set := range map[string]Set{"private": whole.Private, "pool": whole.Pool, "test": whole.Test} {
		for i, id := range set.IDs {
			require.Equal(t, fmt.Sprint(part, "/", i), id)
		}
	}
	var rest []int
	for i, u := range table.Units {
		if u != whole.Private.Units[0] {
			rest = append(rest, i)
		}
	}
	less, err := SplitTable(table.Rows(rest), Literature)
	require.NoError(t, err)
	require.Less(t, less.Private.Len(), whole.Private.Len())
	assert.Equal(t, whole.Pool, less.Pool)
	assert.Equal(t, whole.Test, less.Test)
}

// TestEqualRowsAreOnOneSide: were copies split one by one, removing a row would
// change which of the others are private.
func TestEqualRowsAreOnOneSide(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		for range 1 + i%5 {
			fmt.Fprintf(&text, "%d,%c\n", i, 'a'+rune(i%3))
		}
	}
	table, err := readCSV(strings.NewReader(text.String()), "f.csv", CSVOptions{Header: HeaderNo})
	require.NoError(t, err)
	for _, p := range []Protocol{Literature, Development} {
		task, err := SplitTable(table, p)
		require.NoError(t, err)
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
	_, err := SplitTable(randomTable(50, 1), Literature)
	var input *fault.Error
	assert.ErrorAs(t, err, &input)
	_, err = SplitTable(randomTable(50, 50), "other")
	assert.ErrorContains(t, err, `unknown protocol "other"`)
}

func TestImageSplits(t *testing.T) {
	d := imageData(6000, 1000)
	train, test := d.Train, d.Test
	lit, err := d.Task(Literature)
	require.NoError(t, err)
	dev, err := d.Task(Development)
	require.NoError(t, err)
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
	full, err := d.Task(FullTest)
	require.NoError(t, err)
	assert.Equal(t, []int{5000, 1000, 1000}, []int{full.Private.Len(), full.Pool.Len(), full.Test.Len()})
	assert.Equal(t, train.X.Data[4999*6:5000*6], full.Private.X.Data[4999*6:])
	assert.Equal(t, train.X.Data[5000*6:], full.Pool.X.Data[:1000*6])
	assert.Equal(t, test.X.Data, full.Test.X.Data[:1000*6])
	assert.Equal(t, test.Y, full.Test.Y)
	assert.Equal(t, full.Test.X.Data[:6], full.WithoutPool().Test.X.Data[:6], "rows of the pool are training rows")
	assert.Equal(t, 1000, full.WithoutPool().Test.Len())
	_, err = Data{Name: "a table", Table: randomTable(100, 100)}.Task(FullTest)
	assert.ErrorContains(t, err, "no test set of its own")
	_, err = d.Task("other")
	assert.Error(t, err)
	tiny, err := train.Slice(0, 3)
	require.NoError(t, err)
	_, err = developmentSplit(tiny)
	assert.ErrorContains(t, err, "too few")
}

func TestHashSeesEveryPart(t *testing.T) {
	fresh := func() Set {
		s, err := SplitTable(randomTable(100, 100), Literature)
		require.NoError(t, err)
		return s.Private
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
	task, err := SplitTable(randomTable(100, 100), Literature)
	require.NoError(t, err)
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
		_, err := task.Pool.Slice(r[0], r[1])
		assert.Error(t, err)
	}
}

// The public tables are not part of the repository; PATE_DATA says where they are.
func TestLocalTables(t *testing.T) {
	root := os.Getenv("PATE_DATA")
	for _, c := range []struct {
		path    string
		opt     Options
		rows    int
		classes int
		dim     int
	}{
		{"adult", Options{}, 32561, 2, 105},
		{"abalone", Options{}, 4177, 3, 10},
		{"optdigits/optdigits.tra.gz", Options{CSV: CSVOptions{Label: "65", Header: HeaderNo}}, 3823, 10, 61},
		{"letter/letter-recognition.data.gz", Options{CSV: CSVOptions{Label: "1", Header: HeaderNo}}, 20000, 26, 16},
	} {
		t.Run(c.path, func(t *testing.T) {
			where := c.path
			if filepath.Ext(where) != "" {
				where = filepath.Join(root, where)
			}
			if _, err := os.Stat(filepath.Join(root, c.path)); root == "" || err != nil {
				t.Skipf("%s is not in the folder named by PATE_DATA", c.path)
			}
			d, err := Open(where, c.opt)
			require.NoError(t, err)
			task, err := d.Task(Literature)
			require.NoError(t, err)
			assert.Equal(t, c.rows, task.Private.Len()+task.Pool.Len()+task.Test.Len())
			assert.Len(t, task.Classes, c.classes)
			assert.Equal(t, c.dim, task.Private.X.Cols)
		})
	}
}
