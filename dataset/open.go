package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

	published bool // [Named] knows it

	keep    []string // columns of the table that stay
	ranges  *Ranges  // of the table, where there are no public rows
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
	case d.ranges != nil && d.Table == nil:
		return Task{}, &fault.Error{File: d.Name, What: "has no columns with names", Why: "questions are drawn from the declared ranges of columns", Fix: "give a table as CSV or Parquet, or take public rows"}
	}
	t, err := d.split(p)
	if !d.published {
		err = forOwner(err)
	}
	if d.Kind != "" {
		t.Kind = d.Kind
	}
	t.Published = d.published
	return t, err
}

func (d Data) split(p Protocol) (Task, error) {
	switch {
	case d.ranges != nil:
		return splitDeclared(d.Table, p, d.ranges)
	case d.Table != nil:
		return SplitTable(d.Table, p, EncoderOptions{Keep: d.keep})
	case d.numbers != nil:
		return splitNumbers(d.numbers, p)
	case p == Development:
		return DevelopmentSplit(d.Train)
	case p == FullTest:
		return FullTestSplit(d.Train, d.Test)
	}
	return LiteratureSplit(d.Train, d.Test)
}

// Options say how to read what [Open] finds.
type Options struct {
	CSV  CSVOptions // of a table alone
	Rule ClassRule  // of a folder or a table; known data sets have their classes
	Kind Kind       // of images: one of Kinds(); default Pictures

	Labels, Units string   // files beside an NPY or idx file, as [Source] has them
	Keep          []string // as [Reading] has it
	ImageSize     Shape    // as [Reading] has it

	// Ranges, if not nil, are declared columns of a table of which no row is public: its
	// task has a pool that is drawn from them.
	Ranges *Ranges
}

// Open finds data by name ([Names]), as a folder of idx files ([Dir]) or as a
// table ([CSV], [Parquet]). Options that are not for what was found are an [*fault.Error].
//
// Of one file of labelled rows most are to be private, and which ones is not known yet: every
// error of reading it says that it is for the owner alone.
func Open(where string, opt Options) (Data, error) {
	d, err := open(where, opt)
	d.ranges = opt.Ranges
	return d, err
}

// told marks an error of reading rows that may be private: those to be asked about are not.
func (o Options) told(err error) error {
	if o.CSV.Unlabelled {
		return err
	}
	return forOwner(err)
}

func open(where string, opt Options) (Data, error) {
	info, err := os.Stat(where)
	named := slices.Contains(Names(), where)
	refuse := func(what, why string) (Data, error) {
		return Data{}, &fault.Error{File: where, What: "takes no " + what, Why: why}
	}
	if !named && err == nil {
		if d, found, err := openSource(where, info.IsDir(), opt); found || err != nil {
			return d, err
		}
	}
	if !named && err == nil && !info.IsDir() {
		if opt.Kind != "" && opt.Kind != Columns {
			return refuse("kind of image", "it is a file, and files are tables")
		}
		opt.CSV.Rule = opt.Rule
		t, err := readTable(where, opt.CSV)
		if err != nil {
			return Data{}, opt.told(err)
		}
		return Data{Name: t.Name, Kind: Columns, Table: t, keep: opt.Keep}, nil
	}
	switch {
	case opt.Labels != "" || opt.Units != "":
		return refuse("files of labels or units", "only an NPY or idx file does")
	case !opt.CSV.isZero():
		return refuse("column options", "only a table does")
	case named && !opt.Rule.isZero():
		return refuse("class names", "its classes are known")
	case named && opt.Kind != "":
		return refuse("kind", "its kind is known")
	case named:
		return Named(where)
	case err != nil:
		return Data{}, &fault.Error{File: where, What: "is no data set, folder or file", Why: "known data sets are " + strings.Join(Names(), ", "),
			Fix: "give one of them, a folder of idx files, or a table as CSV or Parquet", Err: err}
	case opt.Kind != "" && !slices.Contains(Kinds(), string(opt.Kind)):
		return refuse(fmt.Sprintf("kind %q", opt.Kind), "images are "+strings.Join(Kinds(), " or "))
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

// Names returns the data sets that [Named] knows.
func Names() []string { return []string{"mnist", "fashion-mnist", "adult", "abalone"} }

// Named opens a data set by its name. MNIST is embedded; the others are looked
// for on this machine, in the folder that the environment variable PATE_DATA
// names: fashion-mnist/ (then where Debian installs it), adult/adult.data and
// abalone/abalone.data, each plain or .gz. What is not there is an [*fault.Error]
// that says how to get it and wraps [fs.ErrNotExist].
func Named(name string) (Data, error) {
	d, err := openNamed(name)
	d.published = true
	return d, err
}

func openNamed(name string) (Data, error) {
	switch name {
	case "mnist":
		train, test, err := MNIST()
		return Data{Name: name, Kind: Handwriting, Train: train, Test: test}, err
	case "fashion-mnist":
		return fashionMNIST()
	case "adult":
		return adult()
	case "abalone":
		return abalone()
	}
	return Data{}, &fault.Error{File: name, What: "is no known data set", Why: "known are " + strings.Join(Names(), ", ")}
}

// debianFashion is where the Debian package dataset-fashion-mnist installs.
const debianFashion = "/usr/share/datasets/fashion-mnist"

func fashionMNIST() (Data, error) {
	path, err := locate("fashion-mnist", "install the Debian package dataset-fashion-mnist, or put the four idx files in $PATE_DATA/fashion-mnist",
		filepath.Join("fashion-mnist", "train-images-idx3-ubyte"), filepath.Join(debianFashion, "train-images-idx3-ubyte"))
	if err != nil {
		return Data{}, err
	}
	train, test, err := readFolder(os.DirFS(filepath.Dir(path)), folder{
		path:       filepath.Dir(path),
		name:       "fashion-mnist",
		rule:       ClassRule{Names: []string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"}},
		provenance: "Fashion-MNIST (Xiao, Rasul, Vollgraf 2017, Zalando Research)",
	})
	return Data{Name: "fashion-mnist", Kind: Pictures, Train: train, Test: test}, err
}

// adult returns Adult / Census Income (Becker and Kohavi 1996, UCI 2), training file.
// fnlwgt is a sampling weight, no property of a person, and is dropped.
func adult() (Data, error) {
	return localTable("adult", "adult/adult.data", "Adult (Becker, Kohavi 1996, UCI Machine Learning Repository id 2)", CSVOptions{
		Names: []string{"age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
			"race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"},
		Label:  "income",
		Drop:   []string{"fnlwgt"},
		Header: HeaderNo,
		Rule:   ClassRule{Names: []string{"<=50K", ">50K"}},
	})
}

// abalone returns Abalone (Nash et al. 1994, UCI 1) as the usual task of three
// classes: up to 8 rings, 9 and 10, 11 and more.
func abalone() (Data, error) {
	d, err := localTable("abalone", "abalone/abalone.data", "Abalone (Nash et al. 1994, UCI Machine Learning Repository id 1), rings in three classes", CSVOptions{
		Names:  []string{"sex", "length", "diameter", "height", "whole", "shucked", "viscera", "shell", "rings"},
		Label:  "rings",
		Header: HeaderNo,
	})
	if err != nil {
		return Data{}, err
	}
	return d, d.Table.regroup([]string{"<=8 rings", "9-10 rings", ">=11 rings"}, func(label string) (int, error) {
		rings, err := strconv.Atoi(label)
		switch {
		case err != nil:
			return 0, err
		case rings <= 8:
			return 0, nil
		case rings <= 10:
			return 1, nil
		}
		return 2, nil
	})
}

func localTable(name, file, provenance string, opt CSVOptions) (Data, error) {
	path, err := locate(name, "put "+filepath.Base(file)+" from the UCI Machine Learning Repository in $PATE_DATA/"+name, filepath.FromSlash(file))
	if err != nil {
		return Data{}, err
	}
	t, err := CSV(path, opt)
	if err != nil {
		return Data{}, err
	}
	t.Name, t.Provenance = name, provenance
	return Data{Name: name, Kind: Columns, Table: t}, nil
}

// locate returns the first of the files that is there, plain or with .gz.
// Relative ones are looked for in $PATE_DATA, if it is set.
func locate(name, fix string, files ...string) (string, error) {
	root := os.Getenv("PATE_DATA")
	var looked []string
	for _, f := range files {
		if !filepath.IsAbs(f) {
			if root == "" {
				looked = append(looked, filepath.Join("$PATE_DATA", f)+" (PATE_DATA is not set)")
				continue
			}
			f = filepath.Join(root, f)
		}
		for _, path := range []string{f, f + ".gz"} {
			switch info, err := os.Stat(path); {
			case err == nil && !info.IsDir():
				return path, nil
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return "", &fault.Error{File: name, What: "cannot be looked for", Err: err}
			}
		}
		looked = append(looked, f+"[.gz]")
	}
	return "", &fault.Error{File: name, What: "is not on this machine", Why: "looked for " + strings.Join(looked, ", "), Fix: fix, Err: fs.ErrNotExist}
}
