package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/table"
)

// DropOther, as the value of [ClassRule].Other, drops rows whose label is not a class.
const DropOther = "drop"

// maxClasses is the largest number of classes and of silos. A label column with more values is taken for a
// measurement.
const maxClasses = 1000

// ClassRule defines the classes, and the treatment of rows without a class. Class names are released with
// every model and every label, so they never come from private rows. The zero ClassRule takes the classes
// from public rows and refuses a private row with another label.
type ClassRule struct {
	// Names holds the class names. Each name is a label. If Names is nil, the classes are the sorted labels
	// of the public rows. For a folder of idx files, Names[i] is the name of label i. The default classes are
	// then 0, 1, ..., m with m = max(9, largest test label).
	Names []string
	// Other is the class of rows whose label is missing or not a class. Other becomes an additional class
	// unless Names contains it. The value [DropOther] drops such rows. If Other is empty, such rows are
	// refused. The error about a refused row depends on private rows. Show this error only to the owner
	// of the data.
	Other string
}

// Validate returns an error for names that are empty, repeated, unsafe to print, too few or too many.
func (r ClassRule) Validate() error {
	if r.Names == nil {
		return nil
	}
	if len(r.Names) < 2 || len(r.Names) > maxClasses {
		return fmt.Errorf("dataset: the number of classes is %d, but must be from 2 to %d", len(r.Names), maxClasses)
	}
	for i, name := range r.Names {
		switch {
		case name == "":
			return errors.New("dataset: a class name is empty")
		case slices.Contains(r.Names[:i], name):
			return fmt.Errorf("dataset: class name %q is listed twice", name)
		case !table.Harmless(name):
			return fmt.Errorf("dataset: class name %q %s", name, harmful)
		}
	}
	return nil
}

const harmful = "holds control characters, or begins with = + - @ as a formula does"

func (r ClassRule) declared() map[string]bool {
	if r.Names == nil {
		return nil
	}
	set := make(map[string]bool, len(r.Names))
	for _, name := range r.Names {
		set[name] = true
	}
	return set
}

func (r ClassRule) withOther(classes []string) []string {
	if r.Other == "" || r.Other == DropOther || slices.Contains(classes, r.Other) {
		return classes
	}
	return append(slices.Clip(classes), r.Other)
}

// other returns the class for labels that are not in classes, or -1 to drop their rows. If known is false,
// such a label is an error.
func (r ClassRule) other(classes []string) (class int, known bool) {
	switch r.Other {
	case "":
		return 0, false
	case DropOther:
		return -1, true
	}
	return slices.Index(classes, r.Other), true
}

const (
	whyRefused = "class names are released, so they must come from public rows or from you; " +
		"this message may reveal a private row: show it to the data owner alone"
	fixRefused = "list all classes in --class-names, or choose with --other-labels what happens to other labels"
)

// Numbers returns the class names "0" to "n-1".
func Numbers(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

func sortClasses(classes []string) {
	value := make(map[string]int64, len(classes))
	for _, c := range classes {
		v, err := strconv.ParseInt(c, 10, 64)
		if err != nil {
			slices.Sort(classes)
			return
		}
		value[c] = v
	}
	slices.SortFunc(classes, func(a, b string) int {
		return cmp.Or(cmp.Compare(value[a], value[b]), cmp.Compare(a, b))
	})
}

func (t *Table) classesOf(public []int) ([]string, error) {
	if len(t.Labels) == 0 {
		return nil, fmt.Errorf("dataset: table %q has no labels", t.Name)
	}
	classes := t.Rule.Names
	if classes == nil {
		seen := make([]bool, len(t.Labels))
		for _, i := range public {
			if y := t.Y[i]; !seen[y] && t.Labels[y] != "" {
				seen[y] = true
				classes = append(classes, t.Labels[y])
			}
		}
		sortClasses(classes)
	}
	classes = t.Rule.withOther(classes)
	switch n := len(classes); {
	case n > maxClasses:
		return nil, wrong(t.Name, fmt.Sprintf("has %d different labels in its public rows, more than %d", n, maxClasses),
			"the label is a class, not a measurement", "choose another label column or group its values")
	case n < 2:
		return nil, wrong(t.Name, fmt.Sprintf("has labels %q in its public rows", classes),
			"there must be at least two classes", "choose another label column, or name the classes with --class-names")
	}
	for _, name := range classes {
		if !table.Harmless(name) {
			return nil, wrong(t.Name, fmt.Sprintf("has a label %q, which %s", name, harmful),
				"names of classes are released, in files that spreadsheets and terminals show", "write the label otherwise, in all files")
		}
	}
	return classes, nil
}

// classify returns the rows that have a class, their classes, and the rows that are left out.
func (t *Table) classify(classes []string, rows []int) (kept, class, out []int, err error) {
	number := indices(classes)
	other, known := t.Rule.other(classes)
	kept, class = make([]int, 0, len(rows)), make([]int, 0, len(rows))
	for _, i := range rows {
		label := t.label(i)
		y, declared := number[label]
		if !declared {
			y = other
		}
		if !declared && !known {
			e := &fault.Error{File: t.file(), What: fmt.Sprintf("has label %q, which is not a class", label), Why: whyRefused, Fix: fixRefused}
			if y := t.Y[i]; y >= 0 && y < len(t.lines) {
				e.Row = t.lines[y]
			}
			if label == "" {
				e.What, e.Fix = "has a row without a label", "remove the row, "+fixMissing
			}
			return nil, nil, nil, e
		}
		if y >= 0 {
			kept, class = append(kept, i), append(class, y)
		} else {
			out = append(out, i)
		}
	}
	return kept, class, out, nil
}

const fixMissing = "fill in the label, or choose with --other-labels what happens to such rows"

func (t *Table) label(i int) string {
	if t.Y[i] < 0 {
		return ""
	}
	return t.Labels[t.Y[i]]
}
