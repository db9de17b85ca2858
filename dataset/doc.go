// Package dataset reads labelled data and splits it into what PATE needs: private rows, an unlabelled
// public pool, and rows that score.
//
// The rows that are not private are treated as PUBLIC and get no protection at all: of a table, 30 % of its
// units (20 % the pool, 10 % that score); of a folder of images, its test files. Give only tables whose
// owner agrees to that.
//
// A [Set] holds features, labels and the unit of privacy of every row. Images come from idx files ([DirFS]),
// tables from CSV or Parquet ([ReadTable]). [Open] takes a path to either and [Data.Task] splits it:
//
//	data, err := dataset.Open("visits.csv", dataset.Options{CSV: dataset.CSVOptions{Label: "outcome"}})
//	task, err := data.Task(dataset.Literature)
//	// task.Private, task.Pool, task.Test
//
// Private rows in one file and public rows in another are read by one [Schema], which [ReadPublic] makes of
// the public ones: CSV, Parquet, NPY, idx, folders of images.
//
//	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: "public.csv"}, reading)
//	private, err := schema.ReadPrivate(dataset.Source{Path: "private.csv"})
//
// # Guarantee
//
// Loading and splitting cost no privacy budget. Pixels are divided by the constant 255. A table is encoded
// by an [Encoder] fitted on the rows of the public pool alone and without their labels, so no private row
// shapes a feature. Splits are by position (images, the order of publication) or by a hash of the unit with
// a public constant (tables), so one unit is never on two sides and a rerun gives the same split.
//
// Nothing else is learned from private rows either: not the names or the number of classes ([ClassRule]),
// not the presence of a header, the separator of cells or the columns. A private row with a label that is
// no class is refused, or treated as declared. No text in a cell of features is an error.
//
// Sizes claimed by a file are never trusted: memory grows with the bytes that are really there, and
// unpacked data beyond 1 GiB, or a table beyond 1 GiB of memory, are refused. Pipes and devices are refused
// before they are opened.
//
// Without a column of units a row of a table is named by its content, and the pool's ids count its own rows:
// adding or removing a private row changes neither the name of another unit, nor its side, nor a released id.
//
// # Caveats
//
// An error may reveal a private row: a label that is no class, a row that is not valid CSV. Such an error
// is marked as being for the owner of the data alone, as is the fact that it occurred: a guarantee is about
// what is released, given that something is. ClassRule.Other leaves no label to refuse.
//
// The number of private units is taken to be public, with DropOther the number that remain. The header is
// taken to be public: it is the first line, if there is one.
//
// Images of a folder are named by position, "train/17", for lack of another name. A neighbour of such a
// data set is one in which all other images keep their names; a file from which an image was cut out, so
// that the later images move up, is no neighbour in that sense, and other teachers see other images. The
// same holds for the cut of [Development].
//
// Labels of the pool are kept in Task.Pool.Y for one purpose: the baseline that shows what a student would
// reach with true labels. A private pipeline must not read them.
package dataset
