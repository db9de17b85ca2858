package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/fault"
)

// Schema says what rows of a task are: classes, columns and how they become features. It is
// made of public rows and of what a user declares, never of private rows, and private rows
// and new ones are read by it.
type Schema struct {
	Kind    Kind
	Image   Shape    // zero if the rows are not images
	Classes []string // nil if neither public rows nor the user name them
	Encoder *Encoder // of tables; nil for numbers and images
	// Features is the number of columns of every matrix that is read by this schema.
	Features int

	scale   scale
	reading Reading
	bare    []string // the columns of a table without a header; nil otherwise
	usual   []usual  // what public rows have, column by column; nil if read from JSON
}

// Pool is public rows, in the order of their files.
type Pool struct {
	Name string
	X    blas32.General
	IDs  []string // a public name of each row: the file of an image, or else its number from 0
	// Truth is the class of each row, -1 where it is not known; nil if the rows have no
	// labels. It is for measuring.
	Truth []int
	Image Shape
}

// Len returns the number of rows.
func (p Pool) Len() int { return p.X.Rows }

// ReadPublic reads public rows and makes the schema by which the private ones are read. Of
// a label and a unit it takes what is there. What is wrong with a file is an [*fault.Error].
//
// A table is encoded as [Encoder] says. Numbers are brought to mean 0 and deviation 1 over
// the public rows, and to at most 6 deviations from the mean. Pixels lie in [0, 1].
func ReadPublic(src Source, r Reading) (*Schema, Pool, error) {
	if err := r.Rule.Validate(); err != nil {
		return nil, Pool{}, err
	}
	in, err := r.open(src, true)
	if err != nil {
		return nil, Pool{}, err
	}
	defer in.close()
	s := &Schema{Kind: r.Kind, reading: r}
	about := in.about()
	if s.Classes, err = about.publicClasses(); err != nil {
		return nil, Pool{}, err
	}
	if in.table != nil {
		err = s.fitTable(in.table)
	} else {
		err = s.fitNumbers(in.numbers)
	}
	if err != nil {
		return nil, Pool{}, err
	}
	pool, err := s.pool(in)
	if err == nil && s.usual == nil && s.scale.Mean != nil {
		s.usual = usualNumbers(pool.X)
	}
	return s, pool, err
}

// publicClasses returns the classes that public rows or the rule say, nil if neither does.
func (t *Table) publicClasses() ([]string, error) {
	var labelled []int
	for i, y := range t.Y {
		if y >= 0 {
			labelled = append(labelled, i)
		}
	}
	if t.Rule.Names != nil {
		return t.Rule.withOther(t.Rule.Names), nil
	}
	if len(labelled) == 0 {
		return nil, nil
	}
	return t.classesOf(labelled)
}

func (s *Schema) fitTable(t *Table) error {
	if s.reading.Ranges != nil {
		return s.fitDeclared(t)
	}
	e, err := fitEncoder(t, encoderOptions{Keep: s.reading.Keep})
	if err != nil {
		return err
	}
	for _, name := range s.reading.Keep {
		if !slices.Contains(e.Columns(), name) {
			return &fault.Error{File: t.Name, What: fmt.Sprintf("has no column %q to keep", name), Why: "its columns are " + shown(e.Columns())}
		}
	}
	s.Kind, s.Encoder, s.Features, s.usual = Columns, e, e.Dim(), usualCells(t, e)
	if t.bare {
		s.bare = t.header
	}
	return nil
}

// fitDeclared encodes public rows as their columns are declared, scaled by the rows.
func (s *Schema) fitDeclared(t *Table) error {
	ranges, err := s.reading.Ranges.pick(t)
	if err != nil {
		return err
	}
	x, err := ranges.encoder.Encode(t)
	if err != nil {
		return err
	}
	weights := make([][]float64, len(ranges.columns))
	for j, n := range ranges.Bins() {
		weights[j] = make([]float64, n)
	}
	for _, row := range ranges.Cells(x) {
		for j, bin := range row {
			if bin >= 0 {
				weights[j][bin]++
			}
		}
	}
	e := ranges.encode(weights)
	s.Kind, s.Encoder, s.Features, s.usual = Columns, e, e.Dim(), ranges.usual()
	return nil
}

func (s *Schema) fitNumbers(n *numbers) error {
	if pictures, ok := n.rows.(*pictureRows); ok {
		shape, err := shapeOfPictures(pictures.dir, pictures.files, s.reading.ImageSize)
		if err != nil {
			return err
		}
		pictures.shape = shape
	}
	s.Image = n.rows.image()
	_, s.Features = n.rows.size()
	switch {
	case s.Image == Shape{}:
		s.Kind = Columns
		var err error
		if s.scale, err = fitScale(n.rows); err != nil {
			return &fault.Error{File: n.path, What: "cannot be scaled", Err: err}
		}
	case s.Kind == "":
		s.Kind = Pictures
	}
	return nil
}

// pool encodes public or new rows.
func (s *Schema) pool(in rows) (Pool, error) {
	about := in.about()
	p := Pool{Name: about.Name, Image: s.Image}
	var err error
	if in.table != nil {
		p.X, err = s.Encoder.Encode(in.table)
	} else {
		p.X, err = s.matrix(in.numbers, nil)
		p.IDs = in.numbers.rows.names()
	}
	if err != nil {
		return Pool{}, err
	}
	if p.IDs == nil {
		p.IDs = Numbers(p.X.Rows)
	}
	if len(about.Labels) > 0 && s.Classes != nil {
		p.Truth = make([]int, len(about.Y))
		for i := range about.Y {
			p.Truth[i] = slices.Index(s.Classes, about.label(i))
		}
	}
	return p, nil
}

// matrix reads all rows, scaled, and shows each to visit before, if that is set.
func (s *Schema) matrix(n *numbers, visit func(i int, row []float64)) (blas32.General, error) {
	count, cols := n.rows.size()
	if count > maxNumbers/cols {
		return blas32.General{}, &fault.Error{File: n.path, What: fmt.Sprintf("has %d rows of %d numbers, more than fit in memory", count, cols), Fix: "give fewer rows"}
	}
	x := blas32.General{Rows: count, Cols: cols, Stride: cols, Data: make([]float32, count*cols)}
	return x, n.rows.each(func(i int, row []float64) error {
		if visit != nil {
			visit(i, row)
		}
		s.scale.apply(x.Data[i*cols:(i+1)*cols], row)
		return nil
	})
}

// ReadPrivate reads labelled rows by a schema. Every row gets a unit of privacy, by what
// stands in it where none is named.
//
// Columns are found by their names. Private rows that lie outside of what public rows have,
// most of them in some column, are refused unless Reading.Accept: one of the two files is
// likely in other units of measure, or names its categories otherwise. Such an error, and
// every other about a private file, may tell of private rows and is for their owner alone.
func (s *Schema) ReadPrivate(src Source) (Set, error) {
	if s.Classes == nil {
		fix := "name all classes with --class-names, or say with --classes how many there are"
		if label := s.reading.CSV.Label; label != "" {
			fix += fmt.Sprintf("; the public rows have no label column %q", label)
		}
		return Set{}, &fault.Error{File: src.Path, What: "has labels of which no class is known",
			Why: "class names are released with every label, so they come from labelled public rows or from you, never from private rows", Fix: fix}
	}
	set, err := s.readPrivate(src)
	return set, forOwner(err)
}

// ReadTask reads labelled rows as [Schema.ReadPrivate] does, into a task for one private model: all
// of them are trained on. On an error the task has what the schema shows of it.
func (s *Schema) ReadTask(src Source) (Task, error) {
	set, err := s.ReadPrivate(src)
	return Task{Name: set.Name, Kind: s.Kind, Private: set, Classes: s.Classes, Image: s.Image, Grouped: s.reading.Grouped(src),
		Provenance: set.Provenance, Encoder: s.Encoder}, err
}

func (s *Schema) readPrivate(src Source) (Set, error) {
	reading := s.reading
	if s.Encoder != nil {
		reading.CSV.public = s.header()
	}
	in, err := reading.open(src, false)
	if err != nil {
		return Set{}, err
	}
	defer in.close()
	if err := s.sameKind(src, in); err != nil {
		return Set{}, err
	}
	about := in.about()
	about.path = src.Path
	if len(about.Labels) == 0 {
		return Set{}, &fault.Error{File: src.Path, What: "has no labels", Why: "teachers learn from labelled rows", Fix: "name the column or the file with --label or --labels, or put images into a folder for each class"}
	}
	all := make([]int, len(about.Y))
	for i := range all {
		all[i] = i
	}
	kept, y, err := about.classify(s.Classes, all)
	if err != nil {
		return Set{}, err
	}
	set := Set{Name: about.Name, Y: y, Classes: s.Classes, Image: s.Image, Provenance: about.Provenance}
	if in.table != nil {
		set.X, err = s.privateCells(in.table)
	} else {
		set.X, err = s.privateNumbers(in.numbers)
	}
	if err != nil {
		return Set{}, err
	}
	set.Units = about.Units
	set.LeftOut = leftOut(about.Units, all, kept)
	set.keepRows(kept)
	set.IDs = numbered("private", set.Len())
	return set, nil
}

// sameKind reports a table where the schema is one of numbers.
func (s *Schema) sameKind(src Source, in rows) error {
	if in.table != nil && s.Encoder == nil {
		return &fault.Error{File: src.Path, What: "is a table", Why: fmt.Sprintf("the public rows have %d numbers each, from another kind of file", s.Features), Fix: "give rows of the same kind"}
	}
	return nil
}

// keepRows moves the rows that are kept to the front, in order.
func (s *Set) keepRows(kept []int) {
	if len(kept) == s.X.Rows {
		return
	}
	units := make([]string, len(kept))
	for i, from := range kept {
		units[i] = s.Units[from]
		copy(s.X.Data[i*s.X.Stride:i*s.X.Stride+s.X.Cols], s.X.Data[from*s.X.Stride:from*s.X.Stride+s.X.Cols])
	}
	s.Units, s.X.Rows, s.X.Data = units, len(kept), s.X.Data[:len(kept)*s.X.Stride]
}

// privateCells encodes a private table.
func (s *Schema) privateCells(t *Table) (blas32.General, error) {
	picked, err := s.align(t)
	if err != nil {
		return blas32.General{}, err
	}
	if !s.reading.Accept {
		if err := s.differences(t.path, unlikeCells(picked, s.usual)); err != nil {
			return blas32.General{}, err
		}
	}
	return s.Encoder.Encode(picked)
}

// header returns names of which a private header has some.
func (s *Schema) header() []string {
	return append(s.Encoder.Columns(), s.reading.CSV.Label, s.reading.CSV.Unit)
}

// align finds the columns of the schema in a table, by their names.
func (s *Schema) align(t *Table) (*Table, error) {
	if s.bare != nil || t.bare {
		if !t.bare || !slices.Equal(s.bare, t.header) {
			return nil, &fault.Error{File: t.file(), What: fmt.Sprintf("has %d columns, and the public rows %d; one of the two files has no header", len(t.header), len(s.bare)),
				Why: "columns are found by their names, and without names by their place", Fix: "give both files a header, or the same columns in the same order"}
		}
	}
	picked, missing, twice := s.Encoder.pick(t)
	switch {
	case len(missing) > 0:
		noun := "column "
		if len(missing) > 1 {
			noun = "columns "
		}
		return nil, &fault.Error{File: t.file(), What: "has no " + noun + strings.Join(missing, ", ") + ", and the public rows have",
			Why: columnsAre(t.header, s.header()), Fix: "name the columns alike, or leave them out of both with --drop"}
	case len(twice) > 0:
		return nil, &fault.Error{File: t.file(), What: "has more than one column " + strings.Join(twice, ", "), Why: "columns are found by their names", Fix: "give each column a name of its own"}
	}
	return picked, nil
}

// privateNumbers scales private rows and names their units.
func (s *Schema) privateNumbers(n *numbers) (blas32.General, error) {
	if err := s.fits(n); err != nil {
		return blas32.General{}, err
	}
	var visit func(i int, row []float64)
	if n.about.Units == nil {
		var names contentNames
		n.about.Units = make([]string, len(n.about.Y))
		visit = func(i int, row []float64) { n.about.Units[i], _ = names.of(row, n.about.label(i)) }
	}
	x, err := s.matrix(n, visit)
	if err != nil {
		return x, err
	}
	if !s.reading.Accept {
		err = s.differences(n.path, unlikeNumbers(x, s.usual))
	}
	return x, err
}

// fits gives images the shape of the schema and reports rows of another size.
func (s *Schema) fits(n *numbers) error {
	if pictures, ok := n.rows.(*pictureRows); ok && s.Image != (Shape{}) {
		pictures.shape = s.Image
	}
	if _, cols := n.rows.size(); s.Encoder != nil || cols != s.Features || n.rows.image() != s.Image {
		return &fault.Error{File: n.path, What: fmt.Sprintf("has rows of %d numbers, and the public rows have %d features", cols, s.Features),
			Why: "private, public and new rows are of one kind and size", Fix: "make the features of both in the same way"}
	}
	return nil
}

// ReadNew reads rows by a schema, to ask a model about them. A label or unit that the file
// has is no feature; a label becomes the Truth. Other columns than the schema's are passed
// over, those of a type that is not read too.
func (s *Schema) ReadNew(src Source) (Pool, error) {
	reading := s.reading
	if s.Encoder != nil {
		reading.CSV.needed = s.Encoder.needed()
	}
	in, err := reading.open(src, true)
	if err != nil {
		return Pool{}, err
	}
	defer in.close()
	if err := s.sameKind(src, in); err != nil {
		return Pool{}, err
	}
	switch {
	case in.table != nil:
		if in.table, err = s.align(in.table); err != nil {
			return Pool{}, err
		}
	default:
		if err := s.fits(in.numbers); err != nil {
			return Pool{}, err
		}
	}
	return s.pool(in)
}

// about returns labels, units and the rule of a source.
func (r rows) about() *Table {
	if r.table != nil {
		return r.table
	}
	return &r.numbers.about
}

// close closes the file that rows are read from, if one is open.
func (r rows) close() {
	if r.numbers != nil {
		if file, ok := r.numbers.rows.(*npyRows); ok {
			file.Close()
		}
	}
}

// finite reports whether a number is no NaN and not infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
