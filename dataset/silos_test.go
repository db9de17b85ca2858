package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// A silo is no feature, its name comes from public rows, and a unit is in one silo. What a private row alone
// can cause is refused in a message for its owner.
func TestSilosOfATable(t *testing.T) {
	dir := t.TempDir()
	base := "x,hospital,who,kind\n"
	for i := range 200 {
		base += fmt.Sprintf("%d,%s,u%d,%c\n", i%7, []string{"north", "south"}[i/2%2], i/2, 'a'+rune(i%2))
	}
	read := func(text, unit string) (Task, error) {
		path := filepath.Join(dir, "t.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		d, err := Open(path, Options{CSV: CSVOptions{Label: "kind", Unit: unit, Silo: "hospital"}})
		if err != nil {
			return Task{}, err
		}
		return d.Task(Literature)
	}
	task := testkit.Must(read(base, "who"))
	require.Equal(t, []string{"north", "south"}, task.Silos)
	require.Equal(t, 1, task.Private.X.Cols)
	for _, u := range task.Private.Units {
		var n int
		testkit.Must(fmt.Sscanf(u, "u%d", &n))
		require.Equal(t, n%2, task.SiloOf[u])
	}
	moved := task
	moved.SiloOf = map[string]int{}
	require.NotEqual(t, task.Hash(), moved.Hash())

	private, public := task.Private.Units[0], task.Test.Units[0]
	row := func(unit, hospital string) string { return base + fmt.Sprintf("3,%s,%s,a\n", hospital, unit) }
	require.Len(t, testkit.Must(read(row(public, "west"), "who")).Silos, 3)
	for text, says := range map[string]string{
		row(private, "west"): `silo "west", which is in no public row`,
		row(private, map[int]string{0: "south", 1: "north"}[task.SiloOf[private]]): "rows in two silos",
		row(public, "=west"): "has a silo \"=west\"", row(private, ""): "has no silo in column", strings.ReplaceAll(base, "north", "south"): "has 1 silos in its public rows",
	} {
		require.ErrorContains(t, testkit.Err(read(text, "who")), says)
		require.ErrorContains(t, testkit.Err(read(text, "who")), "owner alone")
	}
	require.Error(t, testkit.Err(read(base, "hospital")), "unit and silo are two columns")

	// Without ids, the name of a row does not depend on equal rows of other silos.
	names := func(silos ...string) []string {
		table := &Table{Labels: []string{"a"}, Y: make([]int, len(silos)), silos: silos, numbers: alike(len(silos))}
		require.NoError(t, table.nameUnits())
		return table.Units
	}
	require.Equal(t, names("south"), names("north", "south")[1:])
	require.NotEqual(t, names("south"), names("south", "south")[1:])
}

type alike int // equal rows

func (n alike) size() (rows, cols int) { return int(n), 1 }

func (n alike) each(visit func(i int, row []float64) error) error {
	for i := range int(n) {
		if err := visit(i, []float64{1}); err != nil {
			return err
		}
	}
	return nil
}

func (alike) image() Shape { return Shape{} }
