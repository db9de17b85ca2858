package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
)

// labelled writes a table in which a row's unit says on which side it is.
func labelled(rows []string, sides []string) string {
	var text strings.Builder
	text.WriteString("x,who,kind\n")
	for i, label := range rows {
		fmt.Fprintf(&text, "%d,%s,%s\n", i, unitOn(sides[i], i), label)
	}
	return text.String()
}

// unitOn returns a name that the split sends to a side.
func unitOn(side string, n int) string {
	place := newPlacer("pate dataset split 1 " + string(Literature))
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d-%d", side, n, i)
		if u := place.of(name); side == "private" && u < 0.7 || side == "pool" && u >= 0.7 && u < 0.9 || side == "test" && u >= 0.9 {
			return name
		}
	}
}

// publicSides are ten private and ten public rows of two classes, which each test adds to.
func publicSides() (labels, sides []string) {
	for i := range 20 {
		labels = append(labels, []string{"b", "a"}[i%2])
		sides = append(sides, []string{"private", "pool", "private", "test"}[i/2%4])
	}
	return slices.Clip(labels), slices.Clip(sides)
}

func classTask(t *testing.T, labels, sides []string, rule ClassRule) (Task, error) {
	t.Helper()
	table, err := readCSV(strings.NewReader(labelled(labels, sides)), "t.csv", CSVOptions{Label: "kind", Unit: "who", Rule: rule})
	if err != nil {
		return Task{}, err
	}
	return splitTable(table, Literature, nil, nil)
}

// A private row with a label that nobody else has moves no name and no number of classes.
func TestClassesNeverComeFromPrivateRows(t *testing.T) {
	labels, sides := publicSides()
	plain := testkit.Must(classTask(t, labels, sides, ClassRule{}))
	require.Equal(t, []string{"a", "b"}, plain.Classes)
	more, where := append(labels, "rare"), append(sides, "private")

	_, err := classTask(t, more, where, ClassRule{})
	input := testkit.ErrorAs[*fault.Error](t, err)
	require.Equal(t, 22, input.Row)
	require.ErrorContains(t, err, `has label "rare", which is no class`)
	require.ErrorContains(t, err, "for its owner alone")
	require.ErrorContains(t, testkit.Err(classTask(t, more, where, ClassRule{Names: []string{"a", "b"}})), `row 22 has label "rare"`)

	dropped := testkit.Must(classTask(t, more, where, ClassRule{Other: DropOther}))
	require.Equal(t, 11, dropped.Private.UnitCount(), "whoever carries the label, the unit is one")
	require.Equal(t, 10, dropped.Private.Len())
	dropped.Private.LeftOut = nil
	require.Equal(t, plain, dropped, "else as if it were not there")

	for _, names := range [][]string{nil, {"a", "b"}} {
		rule := ClassRule{Names: names, Other: "other"}
		without := testkit.Must(classTask(t, labels, sides, rule))
		with := testkit.Must(classTask(t, more, where, rule))
		missing := testkit.Must(classTask(t, append(labels, ""), where, rule))
		for _, task := range []Task{without, with, missing} {
			require.Equal(t, []string{"a", "b", "other"}, task.Classes, "whether a row has it or not")
			require.Equal(t, without.Pool, task.Pool)
			require.Equal(t, without.Encoder, task.Encoder)
		}
		require.Equal(t, 2, with.Private.Y[with.Private.Len()-1])
		require.Equal(t, 2, missing.Private.Y[missing.Private.Len()-1])
	}
	into := testkit.Must(classTask(t, more, where, ClassRule{Other: "b"}))
	require.Equal(t, 1, into.Private.Y[into.Private.Len()-1])
	require.Equal(t, []string{"a", "b"}, into.Classes)

	require.Equal(t, []string{"a", "b", "rare"}, testkit.Must(classTask(t, more, append(sides, "pool"), ClassRule{})).Classes)
	declared := testkit.Must(classTask(t, labels, sides, ClassRule{Names: []string{"b", "c", "a"}}))
	require.Equal(t, []string{"b", "c", "a"}, declared.Classes, "in the order that was given")

	_, err = classTask(t, []string{"a", "b", "b", "a", "a"}, []string{"private", "private", "private", "pool", "test"}, ClassRule{})
	require.ErrorContains(t, err, "at least two classes")
	for _, names := range [][]string{{}, {"a"}, {"a", ""}, {"a", "a"}, Numbers(maxClasses + 1)} {
		require.Error(t, ClassRule{Names: names}.Validate())
		_, _, err = DirFS(os.DirFS(t.TempDir()), t.TempDir(), ClassRule{Names: names})
		require.Error(t, err)
	}
}

func TestClassesByValue(t *testing.T) {
	classes := []string{"10", "9", "-2", "01", "1"}
	sortClasses(classes)
	require.Equal(t, []string{"-2", "01", "1", "9", "10"}, classes)
}

// TestHarmfulClassNames: names of classes stand in released files, which spreadsheets open.
func TestHarmfulClassNames(t *testing.T) {
	labels, sides := publicSides()
	for _, name := range []string{"=HYPERLINK(1)", "a\x1b[2J"} {
		require.ErrorContains(t, testkit.Err(classTask(t, append(labels, name), append(sides, "pool"), ClassRule{})), "as a formula does")
		require.ErrorContains(t, ClassRule{Names: []string{"a", name}}.Validate(), "as a formula does")
		require.ErrorContains(t, testkit.Err(classTask(t, labels, sides, ClassRule{Other: name})), "as a formula does")
	}
}

func TestManyPublicLabelsAreNoClasses(t *testing.T) {
	labels, sides := make([]string, maxClasses+1), make([]string, maxClasses+1)
	for i := range labels {
		labels[i], sides[i] = fmt.Sprint("c", i), "pool"
	}
	labels, sides = append(labels, "c1", "c2"), append(sides, "private", "test")
	require.ErrorContains(t, testkit.Err(classTask(t, labels, sides, ClassRule{})), "1001 different labels")
}

// The training file of a folder is private: its largest label must not be seen.
func TestClassesOfAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "digits")
	write := func(train, test byte) {
		writeFolder(t, path, func(files map[string][]byte) {
			files["train-labels-idx1-ubyte"] = idxBytes([]uint32{2}, []byte{1, train})
			files["t10k-labels-idx1-ubyte"] = idxBytes([]uint32{1}, []byte{test})
		})
	}
	write(0, 11)
	train, test, err := DirFS(os.DirFS(path), path, ClassRule{})
	require.NoError(t, err)
	require.Len(t, train.Classes, 12)
	require.Len(t, test.Classes, 12)

	write(11, 0)
	_, _, err = DirFS(os.DirFS(path), path, ClassRule{})
	require.ErrorContains(t, err, "has label 11, and the classes are 10")
	train, _, err = DirFS(os.DirFS(path), path, ClassRule{Other: "other"})
	require.NoError(t, err)
	require.Equal(t, []int{1, 10}, train.Y)
	require.Equal(t, "other", train.Classes[10])
	train, test, err = DirFS(os.DirFS(path), path, ClassRule{Other: DropOther})
	require.NoError(t, err)
	require.NoError(t, train.Validate())
	require.Equal(t, []string{"train/0"}, train.Units, "units keep their names")
	require.Equal(t, 2, train.UnitCount())
	require.Equal(t, 1, test.Len())
	train, _, err = DirFS(os.DirFS(path), path, ClassRule{Names: []string{"no", "yes"}, Other: "no"})
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, train.Y)

	require.ErrorContains(t, testkit.Err(Open(path, Options{Kind: "magic"})), "images are handwriting or pictures")
	require.Equal(t, Handwriting, testkit.Must(Open(path, Options{Rule: ClassRule{Other: DropOther}, Kind: Handwriting})).Kind)
}

// No text in a private cell ends the reading: whether there is a result is seen by everybody.
func TestNoCellOfAPrivateRowIsRefused(t *testing.T) {
	public := &Table{Name: "t", Columns: []Column{{"n", []string{"1", "2", "3"}}, {"c", []string{"u", "v", "u"}}}, Y: []int{0, 1, 0}, Units: []string{"a", "b", "c"}}
	e := testkit.Must(fitEncoder(public, nil))
	for text, want := range map[string]float32{"": 0, "nan": 0, "NaN": 0, "-nan": 0, "word": 0, "1e999": 3, "-1e999": -3, "inf": 3, "-Infinity": -3, "1e308": 3, "0x1p9999": 3} {
		x := testkit.Must(e.Encode(&Table{Columns: []Column{{"n", []string{text}}, {"c", []string{text}}}, Y: []int{0}, Units: []string{"p"}}))
		assert.Equal(t, []float32{want, 0, 0}, x.Data, text)
	}
}
