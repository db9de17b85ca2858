package dataset

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
)

// Data is a data set before the split: a table, images in a training and a test set, or other numeric rows.
type Data struct {
	Name        string
	Kind        Kind
	Train, Test Set    // images with a published test set, otherwise empty
	Table       *Table // nil if the data are not a table; of a labelled file, [Table.Rows] has the cells

	Published bool    // all rows are public, in every part
	Ranges    *Ranges // declared columns if there are no public rows

	keep    []string // columns of the table to keep as features
	numbers *Table   // rows of an NPY file, an idx file or a folder of images, otherwise nil
}

// Task splits the data by the protocol. If the data are not public, errors about rows are marked as only for
// the data's owner.
func (d Data) Task(p Protocol) (Task, error) {
	switch {
	case !slices.Contains(Protocols(), string(p)):
		return Task{}, fmt.Errorf("dataset: unknown protocol %q", p)
	case p == FullTest && (d.Table != nil || d.numbers != nil):
		return Task{}, wrong(d.Name, "has no test set of its own",
			"the split "+string(FullTest)+" is for images in two published parts", "leave the split out")
	case d.Ranges != nil && d.Table == nil:
		return Task{}, wrong(d.Name, "has no columns with names", "questions are drawn from the declared ranges of columns",
			"give a table as CSV or Parquet, or take public rows")
	}
	t, err := d.split(p)
	if err == nil && !d.Published && d.Table != nil && !t.Grouped && !d.Table.rowUnits {
		err = t.Encoder.ownRows(d.Table.file())
	}
	if !d.Published {
		err = forOwner(err)
	}
	t.Kind = cmp.Or(d.Kind, t.Kind)
	t.Published = d.Published
	return t, err
}

func (d Data) split(p Protocol) (Task, error) {
	switch {
	case d.Table != nil:
		return splitTable(d.Table, p, d.keep, d.Ranges)
	case d.numbers != nil:
		return splitTable(d.numbers, p, nil, nil)
	}
	return splitImages(d.Train, d.Test, p)
}

// Options configures [Open].
type Options struct {
	CSV  CSVOptions // for tables only
	Rule ClassRule
	Kind Kind // for images: one of Kinds(), Pictures by default

	Labels, Units string   // files for the rows of an NPY or idx file, as in [Source]
	Embeddings    string   // as in [Source]
	Keep          []string // as in [Reading]
	ImageSize     Shape    // as in [Reading]

	// Ranges, if not nil, declares the columns of a table without public rows. The pool is drawn from these
	// ranges.
	Ranges *Ranges
}

// mark adds ownerNotice to an error about labelled rows. Unlabelled rows are public.
func (o Options) mark(err error) error {
	if o.CSV.Unlabelled {
		return err
	}
	return forOwner(err)
}

const noColumns = "has no columns, so flags of columns, such as --label or --silos, do not apply"

func (o Options) noTable(where string) error {
	switch {
	case o.Labels != "" || o.Units != "" || o.Embeddings != "":
		return wrong(where, "takes no files of labels, units or embeddings", "only an NPY or idx file does", "")
	case !o.CSV.isZero():
		return wrong(where, noColumns, "only a table has columns", "")
	}
	return nil
}

// OnlyRanges checks options for a data set with fixed classes and kind. Only Ranges may be set.
func (o Options) OnlyRanges(where string) error {
	switch err := o.noTable(where); {
	case err != nil:
		return err
	case o.Rule.Names != nil || o.Rule.Other != "":
		return wrong(where, "--classes, --class-names and --other-labels do not apply", "the classes of this data set are fixed", "")
	case o.Kind != "":
		return wrong(where, "--kind does not apply", "the kind of this data set is fixed", "")
	}
	return nil
}

// Open opens a folder of idx files ([DirFS]), a table ([ReadTable]), an NPY or idx file, or a folder of
// images. An option that does not apply to the data is an [*fault.Error].
//
// Any row of a labelled file may become a private row. So errors about such a file are marked as only for the
// owner of the data.
func Open(where string, opt Options) (Data, error) {
	info, missing := os.Stat(where)
	parted := true // the data are a table or a folder of idx files
	if missing == nil && info.IsDir() {
		parted = !isPictureFolder(where)
	} else if missing == nil {
		head, err := firstBytes(where)
		if err != nil {
			return Data{}, err
		}
		parted = magicOf(head) == ""
	}
	switch {
	case !parted && opt.Embeddings != "":
		return Data{}, wrong(where, "is no table, and --embeddings is given", "a table gives label and unit of each embedding", "give a table")
	case !parted && !opt.CSV.isZero():
		return Data{}, wrong(where, noColumns, "only a table has columns", "name files with --labels and --units")
	case !parted:
		r := Reading{Rule: opt.Rule, Kind: opt.Kind, ImageSize: opt.ImageSize}
		in, err := r.open(Source{Path: where, Labels: opt.Labels, Units: opt.Units}, false)
		if err != nil {
			return Data{}, opt.mark(err)
		}
		return Data{Name: in.Name, Kind: opt.Kind, numbers: in, Ranges: opt.Ranges}, nil
	case missing == nil && (!info.IsDir() || opt.CSV.Text != ""):
		if opt.Kind != "" && opt.Kind != Columns {
			return Data{}, wrong(where, "--kind does not apply", "the file is a table, and --kind is for a folder of images", "")
		}
		opt.CSV.Rule = opt.Rule
		if opt.Embeddings != "" {
			t, err := openEmbeddings(Source{Path: where, Embeddings: opt.Embeddings}, opt.CSV)
			return Data{Name: tableName(where), Kind: Columns, numbers: t, Ranges: opt.Ranges}, opt.mark(err)
		}
		if !opt.CSV.Unlabelled {
			opt.CSV.split = &ownSplit{accept: opt.CSV.Accept, place: newSplit(Literature), seen: map[string]bool{}}
		}
		t, err := ReadTable(where, opt.CSV)
		if err != nil {
			return Data{}, opt.mark(err)
		}
		return Data{Name: t.Name, Kind: Columns, Table: t, keep: opt.Keep, Ranges: opt.Ranges}, nil
	}
	switch err := opt.noTable(where); {
	case err != nil:
		return Data{}, err
	case missing != nil:
		return Data{}, &fault.Error{File: where, What: "is not a data set, folder or file",
			Fix: "give one of these names, a folder of idx files, or a table as CSV or Parquet", Err: missing}
	case opt.Kind != "" && !slices.Contains(Kinds(), string(opt.Kind)):
		return Data{}, wrong(where, fmt.Sprintf("takes no kind %q", opt.Kind), "images are "+strings.Join(Kinds(), " or "), "")
	}
	train, test, err := DirFS(os.DirFS(where), where, opt.Rule)
	if err != nil {
		return Data{}, opt.mark(err)
	}
	return Data{Name: train.Name, Kind: cmp.Or(opt.Kind, Pictures), Train: train, Test: test, Ranges: opt.Ranges}, nil
}
