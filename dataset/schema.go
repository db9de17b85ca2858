package dataset

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
)

// Schema describes how rows are read: classes, columns and the encoding of columns as features. A schema is
// made from public rows and declarations, never from private rows.
type Schema struct {
	Kind     Kind
	Image    Shape    // zero if the rows are not images
	Classes  []string // nil if neither public rows nor the user give classes
	Encoder  *Encoder // for tables; nil for NPY rows and images
	Features int      // number of columns of every matrix read with this schema

	scale   scale
	reading Reading
	bare    []string // columns of a table without a header, otherwise nil
	usual   []usual  // common values of each column in public rows; nil if the schema was read from JSON
}

// Pool holds public rows in the order of their files.
type Pool struct {
	Name string
	X    blas32.General
	IDs  []string // public name of each row: the file of an image, otherwise the index of the row
	// Truth has the class of each row, or -1 if unknown. It is nil without labels. Use Truth only for
	// evaluation.
	Truth []int
	Image Shape
}

func (p Pool) Len() int { return p.X.Rows }

// ReadPublic reads public rows and makes the schema for reading private rows. Label and unit columns may be
// missing. An invalid file is an [*fault.Error].
//
// [Encoder] documents the encoding of tables. Numbers of an NPY file are scaled to mean 0 and deviation 1
// over the public rows, then clipped to 6 deviations. Pixels are in [0, 1].
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
	if s.Classes, err = in.publicClasses(); err != nil {
		return nil, Pool{}, err
	}
	if err = s.fit(in); err != nil {
		return nil, Pool{}, err
	}
	pool, err := s.pool(in)
	if err == nil && s.usual == nil && s.scale.Mean != nil {
		s.usual = usualNumbers(pool.X)
	}
	return s, pool, err
}

func (t *Table) publicClasses() ([]string, error) {
	if t.Rule.Names != nil {
		return t.Rule.withOther(t.Rule.Names), nil
	}
	labelled := slices.DeleteFunc(upTo(len(t.Y)), func(i int) bool { return t.Y[i] < 0 })
	if len(labelled) == 0 {
		return nil, nil
	}
	return t.classesOf(labelled)
}

func (s *Schema) fit(t *Table) error {
	switch {
	case s.reading.Ranges != nil:
		return s.fitDeclared(t)
	case t.numbers != nil:
		return s.fitNumbers(t)
	}
	e, err := fitEncoder(t, s.reading.Keep)
	if err != nil {
		return err
	}
	for _, name := range s.reading.Keep {
		if !slices.Contains(e.Columns(), name) {
			return wrong(t.Name, fmt.Sprintf("has no column %q to keep", name), "its columns are "+shown(e.Columns()), "")
		}
	}
	s.Kind, s.Encoder, s.Features, s.usual = Columns, e, e.Dim(), usualCells(t, e)
	if t.bare {
		s.bare = t.header
	}
	return nil
}

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

func (s *Schema) fitNumbers(t *Table) (err error) {
	if pictures, ok := t.numbers.(*pictureRows); ok {
		if pictures.shape, err = shapeOfPictures(pictures.dir, pictures.files, s.reading.ImageSize); err != nil {
			return err
		}
	}
	s.Image = t.numbers.image()
	_, s.Features = t.numbers.size()
	switch {
	case s.Image == Shape{}:
		s.Kind = Columns
		s.scale, err = fitScale(t.path, t.numbers)
	case s.Kind == "":
		s.Kind = Pictures
	}
	return err
}

func (s *Schema) pool(in *Table) (p Pool, err error) {
	p = Pool{Name: in.Name, IDs: in.ids, Image: s.Image}
	if in.numbers == nil {
		p.X, err = s.Encoder.Encode(in)
	} else {
		p.X, err = s.matrix(in, nil)
	}
	if err != nil {
		return Pool{}, err
	}
	if p.IDs == nil {
		p.IDs = Numbers(p.X.Rows)
	}
	if len(in.Labels) > 0 && s.Classes != nil {
		p.Truth = make([]int, len(in.Y))
		for i := range in.Y {
			p.Truth[i] = slices.Index(s.Classes, in.label(i))
		}
	}
	return p, nil
}

func (s *Schema) matrix(t *Table, content *contentNames) (blas32.General, error) {
	count, cols := t.numbers.size()
	if count > maxNumbers/cols {
		return blas32.General{}, wrong(t.path, fmt.Sprintf("has %d rows of %d numbers, more than fit in memory", count, cols),
			"", "give fewer rows")
	}
	x := dense.New(count, cols)
	return x, t.numbers.each(func(i int, row []float64) error {
		if content != nil {
			content.addNumbers(row, t.label(i))
		}
		s.scale.apply(x.Data[i*cols:(i+1)*cols], row)
		return nil
	})
}

// ReadPrivate reads labelled rows with a schema. It finds columns by name. If no units are given, each row is
// its own unit, named by its content. An image in a folder is named by its file. Errors about a private file
// may reveal private rows and are only for the owner of the rows.
//
// If no units are given, but ids repeat in a column of the public rows, ReadPrivate returns an
// [*fault.Error]. The option RowUnits disables this check. An [*fault.Error] is also returned if most values
// of a column with at least 20 private values are strange. The option Reading.Accept disables this check. If
// Reading.Ranges is set, all values outside the declared ranges are strange, except missing values.
// Otherwise, strange values are categories without a public row, numbers outside the middle 98 % of the
// public numbers, and texts in place of numbers. Missing values are then strange in columns without missing
// public values.
func (s *Schema) ReadPrivate(src Source) (Set, error) {
	if s.Classes == nil {
		what := "has labels, but the classes are not known"
		if label := s.reading.CSV.Label; label != "" {
			what += fmt.Sprintf(", because the public rows have no label column %q", label)
		}
		return Set{}, wrong(src.Path, what, "class names are released with every label, so they come from labelled public rows or from you, "+
			"never from private rows", "list all classes in --class-names, or give their number as --classes")
	}
	if !s.reading.Grouped(src) && !s.reading.CSV.RowUnits {
		if err := s.Encoder.ownRows(src.Path); err != nil {
			return Set{}, err
		}
	}
	set, err := s.readPrivate(src)
	return set, forOwner(err)
}

// ReadTask reads labelled rows like [Schema.ReadPrivate]. All rows become training rows of one private model.
// If ReadTask fails, the task still has the fields that depend only on the schema.
func (s *Schema) ReadTask(src Source) (Task, error) {
	set, err := s.ReadPrivate(src)
	return Task{Name: set.Name, Kind: s.Kind, Private: set, Classes: s.Classes, Image: s.Image,
		Grouped: s.reading.Grouped(src), Provenance: set.Provenance, Encoder: s.Encoder}, err
}

func (s *Schema) readPrivate(src Source) (Set, error) {
	reading := s.reading
	if s.Encoder != nil {
		reading.CSV.public, reading.CSV.schema, reading.CSV.split = s.header(), s, &ownSplit{accept: reading.CSV.Accept, seen: map[string]bool{}}
	}
	in, err := reading.open(src, false)
	if err != nil {
		return Set{}, err
	}
	defer in.close()
	if err := s.sameKind(src, in); err != nil {
		return Set{}, err
	}
	in.path = src.Path
	if len(in.Labels) == 0 {
		return Set{}, wrong(src.Path, "has no labels", "teachers learn from labelled rows",
			"name the column or the file with --label or --labels, or put images into a folder for each class")
	}
	kept, y, out, err := in.classify(s.Classes, upTo(len(in.Y)))
	if err != nil {
		return Set{}, err
	}
	set := Set{Name: in.Name, Y: y, Classes: s.Classes, Image: s.Image, Provenance: in.Provenance}
	if in.numbers == nil {
		set.X, err = s.privateCells(in)
	} else {
		set.X, err = s.privateNumbers(in)
	}
	if err != nil {
		return Set{}, err
	}
	set.Units, set.LeftOut = in.Units, pickRows(in.Units, out)
	if len(kept) < set.X.Rows { // kept rows move to the front
		for i, from := range kept {
			copy(dense.Row(set.X, i), dense.Row(set.X, from))
		}
		set.Units, set.X.Rows, set.X.Data = pickRows(set.Units, kept), len(kept), set.X.Data[:len(kept)*set.X.Stride]
	}
	set.IDs = numbered("private", set.Len())
	return set, nil
}

func (s *Schema) sameKind(src Source, in *Table) error {
	if in.numbers != nil || s.Encoder != nil {
		return nil
	}
	return wrong(src.Path, "is a table", fmt.Sprintf("the public rows have %d numbers each, from another kind of file", s.Features),
		"give rows of the same kind")
}

func (s *Schema) privateCells(t *Table) (blas32.General, error) {
	e := t.encoded
	if e == nil {
		_, err := s.align(t)
		return blas32.General{}, err
	}
	if !s.reading.Accept {
		if err := s.differences(t.path, unlikeCells(e.counts, s.usual)); err != nil {
			return blas32.General{}, err
		}
	}
	if err := s.Encoder.fits(t.Name, t.Len()); err != nil {
		return blas32.General{}, err
	}
	dim := s.Encoder.dim
	return blas32.General{Rows: t.Len(), Cols: dim, Stride: dim, Data: slices.Concat(e.blocks...)}, nil
}

func (s *Schema) header() []string {
	return append(s.Encoder.Columns(), s.reading.CSV.Label, s.reading.CSV.Unit)
}

func (s *Schema) align(t *Table) (*Table, error) {
	if (s.bare != nil || t.bare) && (!t.bare || !slices.Equal(s.bare, t.header)) {
		return nil, wrong(t.file(),
			fmt.Sprintf("has %d columns, and the public rows %d; one of the two files has no header", len(t.header), len(s.bare)),
			"columns are found by their names, and without names by their place",
			"give both files a header, or the same columns in the same order")
	}
	picked, missing, twice := s.Encoder.pick(t)
	switch {
	case len(missing) > 0:
		format := "has no column %s, but the public rows have it"
		if len(missing) > 1 {
			format = "has no columns %s, but the public rows have them"
		}
		return nil, wrong(t.file(), fmt.Sprintf(format, strings.Join(missing, ", ")),
			columnsAre(t.header, s.header()), "use the same column names in both files, or drop the columns from both with --drop")
	case len(twice) > 0:
		return nil, twoColumns(t.file(), strings.Join(twice, ", "))
	}
	return picked, nil
}

func twoColumns(file, name string) error {
	return wrong(file, "has more than one column "+name, "columns are found by their names", "give each column a name of its own")
}

func (s *Schema) privateNumbers(t *Table) (blas32.General, error) {
	if err := s.fits(t); err != nil {
		return blas32.General{}, err
	}
	var content *contentNames
	if t.Units == nil {
		content = &contentNames{}
	}
	x, err := s.matrix(t, content)
	if content != nil {
		t.Units = content.names()
	}
	if err == nil && !s.reading.Accept {
		err = s.differences(t.path, unlikeNumbers(x, s.usual))
	}
	return x, err
}

func (s *Schema) fits(t *Table) error {
	if pictures, ok := t.numbers.(*pictureRows); ok && s.Image != (Shape{}) {
		pictures.shape = s.Image
	}
	if _, cols := t.numbers.size(); s.Encoder != nil || cols != s.Features || t.numbers.image() != s.Image {
		return wrong(t.path, fmt.Sprintf("has rows of %d numbers, and the public rows have %d features", cols, s.Features),
			"private, public and new rows are of one kind and size", "make the features of both in the same way")
	}
	return nil
}

// ReadNew reads rows for which a model will predict labels. The rows must fit the schema s. Existing labels
// are stored in Pool.Truth. Label columns, unit columns and columns outside the schema do not become
// features.
func (s *Schema) ReadNew(src Source) (Pool, error) {
	reading := s.reading
	if s.Encoder != nil {
		reading.CSV.needed, reading.CSV.Text = s.Encoder.needed(), s.Encoder.texts()
	}
	in, err := reading.open(src, true)
	if err != nil {
		return Pool{}, err
	}
	defer in.close()
	if err = s.sameKind(src, in); err != nil {
		return Pool{}, err
	}
	if in.numbers == nil {
		in, err = s.align(in)
	} else {
		err = s.fits(in)
	}
	if err != nil {
		return Pool{}, err
	}
	return s.pool(in)
}
