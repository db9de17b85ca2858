package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/internal/table"
)

func (t *Table) fillSilos(task *Task, kept [3][]int) error {
	// The names come from public rows, as class names do, because results and the number of teachers depend
	// on them. If a private row has another silo, or a unit has rows in two silos, the task is refused: votes
	// of such a unit would count twice.
	number := map[string]int{}
	for _, i := range slices.Concat(kept[1], kept[2]) {
		if _, seen := number[t.silos[i]]; !seen {
			name := strings.Clone(t.silos[i])
			number[name], task.Silos = 0, append(task.Silos, name)
		}
	}
	sortClasses(task.Silos)
	if n := len(task.Silos); n < 2 || n > maxClasses {
		return wrong(t.file(), fmt.Sprintf("has %d silos in its public rows, want 2 to %d", n, maxClasses),
			"a silo holds many units", "choose another column for --silos or group its values")
	}
	for i, name := range task.Silos {
		number[name] = i
		if !table.Harmless(name) {
			return wrong(t.file(), fmt.Sprintf("has a silo %q, which %s", name, harmful),
				"names of silos are printed", "write the silo otherwise")
		}
	}
	task.SiloOf = map[string]int{}
	for _, i := range kept[0] {
		unit := t.Units[i]
		silo, public := number[t.silos[i]]
		if !public {
			return wrong(t.file(), fmt.Sprintf("has silo %q, which is in no public row", t.silos[i]),
				"names of silos become public, so they must come from public rows", "join small silos, or remove the row")
		}
		if other, known := task.SiloOf[unit]; known && other != silo {
			return wrong(t.file(), "has a unit with rows in two silos", "such a unit would vote in each of them, and epsilon would be larger",
				"leave the rows of a unit to one silo, such as the silo of its first row")
		}
		task.SiloOf[unit] = silo
	}
	return nil
}
