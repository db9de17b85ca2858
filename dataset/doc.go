// Package dataset reads labelled data and splits it into the parts that PATE needs: private rows, an
// unlabelled public pool, and test rows.
//
// The rows that are not private are treated as PUBLIC and get no protection at all: for a table, 30 % of its
// units (20 % pool, 10 % test); for a folder of images, its test files. Use only tables whose owner agrees to
// that.
//
// A [Set] holds features, labels and the unit of privacy of every row. Images come from idx files ([DirFS]),
// tables from CSV or Parquet ([ReadTable]). [Open] takes a path to either and [Data.Task] splits it:
//
//	data, err := dataset.Open("visits.csv", dataset.Options{CSV: dataset.CSVOptions{Label: "outcome"}})
//	task, err := data.Task(dataset.Literature)
//	// task.Private, task.Pool, task.Test
//
// Private rows in one file and public rows in another are read with one [Schema], which [ReadPublic] makes
// from the public rows. The files may be CSV, Parquet, NPY, idx or folders of images.
//
//	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: "public.csv"}, reading)
//	private, err := schema.ReadPrivate(dataset.Source{Path: "private.csv"})
//
// # Guarantee
//
// Loading and splitting cost no privacy budget. Pixels are divided by the constant 255. A table is encoded by
// an [Encoder] fitted on the rows of the public pool alone and without their labels, so no private row shapes
// a feature. Splits are by position (images, the order of publication) or by a hash of the unit with a public
// constant (tables), so one unit is never on two sides and a rerun gives the same split.
//
// Nothing else is learned from private rows either: neither the names or number of classes ([ClassRule]) nor
// the presence of a header, the separator or the columns. A private row with a label that is not a class is
// refused, or treated as declared. No content of a feature cell is an error.
//
// Sizes in a file's header are never trusted: memory grows with the bytes that are actually read, and
// unpacked data beyond 1 GiB, or a table beyond 1 GiB of memory, are refused. Pipes and devices are refused
// before they are opened.
//
// Without a unit column a row of a table is identified by its content, and the pool's ids count only rows of
// the pool: adding or removing a private row changes neither the name of another unit, nor its side, nor a
// released id.
//
// # Caveats
//
// An error may reveal a private row: a label that is no class, a row that is not valid CSV. Such an error is
// marked as being for the owner of the data alone. So is the fact that it occurred: the guarantee covers
// releases only. With ClassRule.Other no label is refused.
//
// The number of private units is assumed to be public; with DropOther, the number that remain. The header, if
// any, is the first line and is assumed to be public.
//
// Images in idx files are named by position, "train/17", for lack of another name. In a neighbouring data set
// all other images keep their names. If an image is cut out of a file so that later images move up, the
// result is not a neighbour in this sense, and later images may move to other teachers. The same holds for
// the cut of [Development].
//
// Labels of the pool are kept in Task.Pool.Y for one purpose: the baseline of a student trained on true
// labels. A private pipeline must not read them.
package dataset
