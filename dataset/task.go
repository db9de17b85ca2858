package dataset

import (
	"fmt"
)

// Protocol says how a data set is split.
type Protocol string

const (
	// Literature is the split that results are reported on. Images: the training
	// set is private; of the test set the first nine tenths are the pool, the last
	// tenth scores (MNIST: 60,000, test[0:9000], test[9000:10000], as in Papernot
	// et al. 2017). Tables: 70 %, 20 % and 10 % of the units.
	Literature Protocol = "literature"
	// Development is the split for choosing hyper-parameters. It never touches a
	// row that scores under Literature. Images: the training set alone, cut at
	// 50/60 and 59/60 (MNIST: train[0:50000], [50000:59000], [59000:60000]).
	// Tables: the private part of Literature alone, split again 70, 20 and 10 %.
	Development Protocol = "development"
	// FullTest scores on the whole test set of images: the training set is cut at 50/60,
	// and its last sixth is the pool (MNIST: 50,000 private, 10,000 pool, 10,000 test).
	// What has no test set of its own, a table for one, cannot be split so.
	FullTest Protocol = "full-test"
)

// Protocols lists them.
func Protocols() []string { return []string{string(Literature), string(Development), string(FullTest)} }

// Kind says what rows are, as far as that decides how a model is best trained. It is
// declared, for known data sets by this package, and never found out from rows.
type Kind string

const (
	Columns     Kind = "table"       // columns of a table
	Handwriting Kind = "handwriting" // letters or digits: their slant carries no meaning
	Pictures    Kind = "pictures"    // other images, of things that are upright
)

// Kinds lists the kinds that images may have.
func Kinds() []string { return []string{string(Handwriting), string(Pictures)} }

// Task is a data set split for private learning.
type Task struct {
	Name     string
	Protocol Protocol
	Kind     Kind // how it is best learned
	Private  Set  // what is to be protected
	// Pool is public and unlabelled: its rows are what teachers are asked about.
	// Pool.Y holds the true labels for the baseline "student on true labels" only.
	Pool    Set
	Test    Set // scores; never asked about, never trained on
	Classes []string
	Image   Shape // zero if the rows are not images
	// Grouped says that a unit may have several rows, which is public: units were named by
	// a column. Whether one really has several is not.
	Grouped    bool
	Provenance string
	// Published marks a task of which all rows are public, whatever part they are in.
	Published bool
	// Encoder is what made rows of a table; nil for images.
	Encoder *Encoder
	// Ranges are what was declared of the columns where there are no public rows, and nil
	// elsewhere. The pool is drawn then: Questions are its rows in the form of a table, and
	// Pool.Y means nothing.
	Ranges    *Ranges
	Questions *Table
}

// literatureSplit splits images as [Literature] says. Their Kind is Pictures.
func literatureSplit(train, test Set) (Task, error) {
	cut := test.Len() * 9 / 10
	return newTask(Literature, train, test, [3][2]int{{0, train.Len()}, {0, cut}, {cut, test.Len()}})
}

// developmentSplit splits the training images as [Development] says. Their Kind is
// Pictures.
func developmentSplit(train Set) (Task, error) {
	n := train.Len()
	a, b := n*50/60, n*59/60
	return newTask(Development, train, train, [3][2]int{{0, a}, {a, b}, {b, n}})
}

// fullTestSplit splits images as [FullTest] says. Their Kind is Pictures.
func fullTestSplit(train, test Set) (Task, error) {
	// One set, so that newTask cuts pool and test from it.
	n, cut := train.Len(), train.Len()*50/60
	public, err := train.Slice(cut, n)
	if err != nil {
		return Task{}, err
	}
	return newTask(FullTest, train, public.with(test), [3][2]int{{0, cut}, {0, n - cut}, {n - cut, n - cut + test.Len()}})
}

// WithoutPool returns the task for a method that asks nothing of public data: the rows of
// the pool score too, before those of Test, and the pool is empty. MNIST then has
// 60,000 private and 10,000 test rows, under Development 50,000 and 10,000. Under FullTest
// those of the pool are training rows, and do not score; drawn ones have no labels.
func (t Task) WithoutPool() Task {
	if t.Pool.Len() == 0 {
		return t
	}
	if t.Protocol != FullTest && t.Questions == nil {
		t.Test = t.Pool.with(t.Test)
	}
	t.Pool = t.Pool.rows(nil)
	return t
}

// Withheld says why nothing that was learned by this split may be released, whatever was
// charged for it; "" if nothing forbids that. Where rows are public by one split and private
// by another, no ε of a run by the other covers what is learned or chosen by them.
func (t Task) Withheld() string {
	if t.Published || t.Protocol == "" || t.Protocol == Literature {
		return ""
	}
	return "rows score that the default split keeps private; see pate tune"
}

// Waived returns the name by which a ledger of this split is marked as not releasable; nil if it
// is not [Task.Withheld].
func (t Task) Waived() []string {
	if t.Withheld() == "" {
		return nil
	}
	return []string{"split"}
}

// newTask cuts the private rows from one set, pool and test rows from another.
func newTask(p Protocol, private, public Set, cuts [3][2]int) (Task, error) {
	t := Task{Name: private.Name, Protocol: p, Kind: Pictures, Classes: private.Classes, Image: private.Image, Provenance: private.Provenance}
	for i, part := range []*Set{&t.Private, &t.Pool, &t.Test} {
		from := public
		if i == 0 {
			from = private
		}
		var err error
		if *part, err = from.Slice(cuts[i][0], cuts[i][1]); err != nil {
			return Task{}, err
		}
	}
	return t, t.validate()
}

func (t Task) validate() error {
	for _, p := range []struct {
		name string
		set  Set
	}{{"private", t.Private}, {"pool", t.Pool}, {"test", t.Test}} {
		if p.set.Len() == 0 {
			return fmt.Errorf("dataset: %q: no rows are left for the %s part; the data are too few to split", t.Name, p.name)
		}
		if err := p.set.Validate(); err != nil {
			return err
		}
	}
	return nil
}
