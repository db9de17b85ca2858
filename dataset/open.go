package dataset

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
)

// Data is a data set before it is split: images in two published parts, or a
// table.
type Data struct {
	Name        string
	Kind        Kind
	Train, Test Set    // images; empty for a table
	Table       *Table // nil for images

	Published bool    // all of it is public, whatever part it is in
	Ranges    *Ranges // of the table, where there are no public rows

	keep    []string // columns of the table that stay
	numbers *numbers // rows of an NPY or idx file or of a folder of images; nil for others
}

// Task splits the data as the protocol says. An error of rows that are not published says that
// it is for their owner alone.
func (d Data) Task(p Protocol) (Task, error) {
	switch {
	case !slices.Contains(Protocols(), string(p)):
		return Task{}, fmt.Errorf("dataset: unknown protocol %q", p)
	case p == FullTest && (d.Table != nil || d.numbers != nil):
		return Task{}, &fault.Error{File: d.Name, What: "has no test set of its own", Why: "the split " + string(FullTest) + " is for images in two published parts", Fix: "leave the split out"}
	case d.Ranges != nil && d.Table == nil:
		return Task{}, &fault.Error{File: d.Name, What: "has no columns with names", Why: "questions are drawn from the declared ranges of columns", Fix: "give a table as CSV or Parquet, or take public rows"}
	}
	t, err := d.split(p)
	if !d.Published {
		err = forOwner(err)
	}
	if d.Kind != "" {
		t.Kind = d.Kind
	}
	t.Published = d.Published
	return t, err
}

func (d Data) split(p Protocol) (Task, error) {
	switch {
	case d.Ranges != nil:
		return splitDeclared(d.Table, p, d.Ranges)
	case d.Table != nil:
		return SplitTable(d.Table, p, d.keep...)
	case d.numbers != nil:
		return splitNumbers(d.numbers, p)
	case p == Development:
		return developmentSplit(d.Train)
	case p == FullTest:
		return fullTestSplit(d.Train, d.Test)
	}
	return literatureSplit(d.Train, d.Test)
}

// Options say how to read what [Open] finds.
type Options struct {
	CSV  CSVOptions // of a table alone
	Rule ClassRule  // of a folder or a table
	Kind Kind       // of images: one of Kinds(); default Pictures

	Labels, Units string   // files beside an NPY or idx file, as [Source] has them
	Keep          []string // as [Reading] has it
	ImageSize     Shape    // as [Reading] has it

	// Ranges, if not nil, are declared columns of a table of which no row is public: its
	// task has a pool that is drawn from them.
	Ranges *Ranges
}

// Open finds data as a folder of idx files ([Dir]) or as a table ([ReadTable]). Options
// that are not for what was found are an [*fault.Error].
//
// Of one file of labelled rows most are to be private, and which ones is not known yet: every
// error of reading it says that it is for the owner alone.
func Open(where string, opt Options) (Data, error) {
	d, err := open(where, opt)
	d.Ranges = opt.Ranges
	return d, err
}

// told marks an error of reading rows that may be private: those to be asked about are not.
func (o Options) told(err error) error {
	if o.CSV.Unlabelled {
		return err
	}
	return forOwner(err)
}

func refuse(where, what, why string) error {
	return &fault.Error{File: where, What: "takes no " + what, Why: why}
}

// noTable refuses options that are for rows in a file.
func (o Options) noTable(where string) error {
	switch {
	case o.Labels != "" || o.Units != "":
		return refuse(where, "files of labels or units", "only an NPY or idx file does")
	case !o.CSV.isZero():
		return refuse(where, "column options", "only a table does")
	}
	return nil
}

// OnlyRanges refuses all options but Ranges: those of data whose classes and kind are known.
func (o Options) OnlyRanges(where string) error {
	switch err := o.noTable(where); {
	case err != nil:
		return err
	case !o.Rule.isZero():
		return refuse(where, "class names", "its classes are known")
	case o.Kind != "":
		return refuse(where, "kind", "its kind is known")
	}
	return nil
}

func open(where string, opt Options) (Data, error) {
	info, missing := os.Stat(where)
	if missing == nil {
		if d, found, err := openSource(where, info.IsDir(), opt); found || err != nil {
			return d, err
		}
	}
	if missing == nil && !info.IsDir() {
		if opt.Kind != "" && opt.Kind != Columns {
			return Data{}, refuse(where, "kind of image", "it is a file, and files are tables")
		}
		opt.CSV.Rule = opt.Rule
		t, err := ReadTable(where, opt.CSV)
		if err != nil {
			return Data{}, opt.told(err)
		}
		return Data{Name: t.Name, Kind: Columns, Table: t, keep: opt.Keep}, nil
	}
	switch err := opt.noTable(where); {
	case err != nil:
		return Data{}, err
	case missing != nil:
		return Data{}, &fault.Error{File: where, What: "is no data set, folder or file",
			Fix: "give one of them, a folder of idx files, or a table as CSV or Parquet", Err: missing}
	case opt.Kind != "" && !slices.Contains(Kinds(), string(opt.Kind)):
		return Data{}, refuse(where, fmt.Sprintf("kind %q", opt.Kind), "images are "+strings.Join(Kinds(), " or "))
	}
	train, test, err := Dir(where, opt.Rule)
	if err != nil {
		return Data{}, opt.told(err)
	}
	return Data{Name: train.Name, Kind: cmp.Or(opt.Kind, Pictures), Train: train, Test: test}, nil
}

// openSource opens rows of numbers or images that are not split yet: an NPY or idx file, or
// a folder of images. Found is false for what is none of them.
func openSource(where string, folder bool, opt Options) (d Data, found bool, err error) {
	if folder {
		found = isPictureFolder(where)
	} else {
		head, err := firstBytes(where)
		if err != nil {
			return d, false, err
		}
		found = !readAsTable(head)
	}
	if !found {
		return d, false, nil
	}
	if !opt.CSV.isZero() {
		return d, true, &fault.Error{File: where, What: "takes no column options", Why: "only a table does", Fix: "name files with --labels and --units"}
	}
	r := Reading{Rule: opt.Rule, Kind: opt.Kind, ImageSize: opt.ImageSize}
	in, err := r.open(Source{Path: where, Labels: opt.Labels, Units: opt.Units}, false)
	if err != nil {
		return d, true, opt.told(err)
	}
	return Data{Name: in.numbers.about.Name, Kind: opt.Kind, numbers: in.numbers}, true, nil
}
