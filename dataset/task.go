package dataset

import (
	"fmt"
)

// Protocol names a way to split a data set.
type Protocol string

const (
	// Literature is the split that results are reported on. Images: the training set is private; of the
	// test set the first nine tenths are the pool, the last tenth scores (MNIST: 60,000, test[0:9000],
	// test[9000:10000], as in Papernot et al. 2017). Tables: 70 %, 20 % and 10 % of the units.
	Literature Protocol = "literature"
	// Development is the split for choosing hyper-parameters. It never touches a row that scores under
	// Literature. Images: the training set alone, cut at 50/60 and 59/60 (MNIST: train[0:50000],
	// [50000:59000], [59000:60000]). Tables: the private part of Literature, split again 70, 20 and 10 %.
	Development Protocol = "development"
	// FullTest scores on the whole test set of images: the training set is cut at 50/60, and its last sixth
	// is the pool (MNIST: 50,000 private, 10,000 pool, 10,000 test). Data without a test set, such as a
	// table, cannot be split so.
	FullTest Protocol = "full-test"
)

func Protocols() []string { return []string{string(Literature), string(Development), string(FullTest)} }

// Kind classifies rows as far as that decides how a model is best trained. It is declared, for known data
// sets by this package, and never found out from rows.
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
	Private  Set  // the rows to be protected
	// Pool is public and unlabelled: its rows are the questions to teachers. Pool.Y holds the true labels
	// for the baseline "student on true labels" only.
	Pool    Set
	Test    Set // scores; never asked about, never trained on
	Classes []string
	Image   Shape // zero if the rows are not images
	// Grouped reports that a unit may have several rows, which is public: units were named by a column.
	// Whether one really has several is not.
	Grouped    bool
	Provenance string
	Published  bool     // all rows are public, whatever part they are in
	Encoder    *Encoder // made the rows of a table; nil for images
	// Ranges are the declared columns where there are no public rows, and nil elsewhere. The pool is drawn
	// then: Questions are its rows in the form of a table, and Pool.Y means nothing.
	Ranges    *Ranges
	Questions *Table
}

// partNames name the sets of a task in ids and messages, in the order of [Task.sets].
var partNames = [3]string{"private", "pool", "test"}

func (t *Task) sets() [3]*Set { return [3]*Set{&t.Private, &t.Pool, &t.Test} }

// splitImages splits images as a protocol defines it. Their Kind is Pictures.
func splitImages(train, test Set, p Protocol) (Task, error) {
	n, cut := train.Len(), test.Len()*9/10
	switch a, b := n*50/60, n*59/60; p {
	case Development:
		return newTask(p, train, train, [3][2]int{{0, a}, {a, b}, {b, n}})
	case FullTest: // one public set, so that newTask cuts pool and test from it
		public, err := train.Slice(a, n)
		if err != nil {
			return Task{}, err
		}
		return newTask(p, train, public.with(test), [3][2]int{{0, a}, {0, n - a}, {n - a, n - a + test.Len()}})
	}
	return newTask(p, train, test, [3][2]int{{0, n}, {0, cut}, {cut, test.Len()}})
}

// WithoutPool returns the task for a method that asks nothing of public data: the rows of the pool score
// too, before those of Test, and the pool is empty. MNIST then has 60,000 private and 10,000 test rows,
// under Development 50,000 and 10,000. Under FullTest the rows of the pool are training rows and do not
// score; drawn ones have no labels.
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

// Withheld returns why nothing that was learned by this split may be released, whatever was charged for it;
// "" if nothing forbids that. Where rows are public by one split and private by another, no ε of a run by
// the other covers what is learned or chosen by them.
func (t Task) Withheld() string {
	if t.Published || t.Protocol == "" || t.Protocol == Literature {
		return ""
	}
	return "rows score that the default split keeps private; see pate tune"
}

// Waived returns the name by which a ledger of this split is marked as not releasable; nil if it is not
// [Task.Withheld].
func (t Task) Waived() []string {
	if t.Withheld() == "" {
		return nil
	}
	return []string{"split"}
}

func newTask(p Protocol, private, public Set, cuts [3][2]int) (Task, error) {
	t := Task{Name: private.Name, Protocol: p, Kind: Pictures, Classes: private.Classes, Image: private.Image, Provenance: private.Provenance}
	from := private
	for i, part := range t.sets() {
		var err error
		if *part, err = from.Slice(cuts[i][0], cuts[i][1]); err != nil {
			return Task{}, err
		}
		from = public
	}
	return t, t.validate()
}

func (t *Task) validate() error {
	for i, set := range t.sets() {
		if set.Len() == 0 {
			return fmt.Errorf("dataset: %q: no rows are left for the %s part; the data are too few to split", t.Name, partNames[i])
		}
		if err := set.Validate(); err != nil {
			return err
		}
	}
	return nil
}
