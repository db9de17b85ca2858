package dataset

import (
	"slices"

	"github.com/pate-go/pate/fault"
)

// splitNumbers splits rows of numbers or images by unit, as [SplitTable] does. Numbers are
// scaled by the rows of the pool, and the shape of images is that of the pool.
func splitNumbers(n *numbers, p Protocol) (Task, error) {
	defer rows{numbers: n}.close()
	about := &n.about
	about.path = n.path
	if len(about.Labels) == 0 {
		return Task{}, &fault.Error{File: n.path, What: "has no labels", Why: "a model is trained on labelled rows", Fix: "name a file with --labels, or put images into a folder for each class"}
	}
	if err := n.nameUnits(); err != nil {
		return Task{}, err
	}
	private, pool, test, err := about.parts(p)
	if err != nil {
		return Task{}, err
	}
	classes, err := about.classesOf(withLabels(about, slices.Concat(pool, test)))
	if err != nil {
		return Task{}, err
	}
	s := &Schema{}
	if pictures, ok := n.rows.(*pictureRows); ok {
		files := make([]pictureFile, len(pool))
		for i, at := range pool {
			files[i] = pictures.files[at]
		}
		if pictures.shape, err = shapeOfPictures(pictures.dir, files, pictures.shape); err != nil {
			return Task{}, err
		}
	}
	if s.Image = n.rows.image(); s.Image == (Shape{}) {
		if s.scale, err = fitScale(some{n.rows, pool}); err != nil {
			return Task{}, &fault.Error{File: n.path, What: "cannot be scaled", Err: err}
		}
	}
	task := Task{Name: about.Name, Protocol: p, Classes: classes, Image: s.Image, Kind: Columns, Grouped: about.groups == nil && s.Image == Shape{}, Provenance: about.Provenance}
	if s.Image != (Shape{}) {
		task.Kind = Pictures
	}
	for _, part := range []struct {
		name string
		set  *Set
		rows []int
	}{{"private", &task.Private, private}, {"pool", &task.Pool, pool}, {"test", &task.Test, test}} {
		kept, y, err := about.classify(classes, part.rows)
		if err != nil {
			return Task{}, err
		}
		*part.set = Set{Name: about.Name, Y: y, LeftOut: leftOut(about.Units, part.rows, kept), IDs: numbered(part.name, len(kept)), Classes: classes, Image: s.Image, Provenance: about.Provenance}
		for _, i := range kept {
			part.set.Units = append(part.set.Units, about.Units[i])
		}
		if part.set.X, err = s.matrix(&numbers{path: n.path, rows: some{n.rows, kept}}, nil); err != nil {
			return Task{}, err
		}
	}
	return task, task.validate()
}

// withLabels returns those of the rows that have a label.
func withLabels(t *Table, rows []int) []int {
	return slices.DeleteFunc(rows, func(i int) bool { return t.Y[i] < 0 })
}

// nameUnits gives every row a unit by its content, where none is named.
func (n *numbers) nameUnits() error {
	if n.about.Units != nil {
		return nil
	}
	var names contentNames
	return n.rows.each(func(i int, row []float64) error {
		unit, group := names.of(row, n.about.label(i))
		n.about.Units, n.about.groups = append(n.about.Units, unit), append(n.about.groups, group)
		return nil
	})
}

// some are some rows of a source, in its order.
type some struct {
	rowSource
	kept []int // ascending
}

func (s some) size() (rows, cols int) {
	_, cols = s.rowSource.size()
	return len(s.kept), cols
}

func (s some) each(visit func(i int, row []float64) error) error {
	next := 0
	return s.rowSource.each(func(i int, row []float64) error {
		if next == len(s.kept) || s.kept[next] != i {
			return nil
		}
		next++
		return visit(next-1, row)
	})
}
