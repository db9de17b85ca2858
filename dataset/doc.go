// Package dataset reads labelled data and splits the rows into private rows, a public pool and test rows.
//
// The pool and the test rows are treated as PUBLIC and get no protection. For a table, they are 30 % of the
// units (20 % pool, 10 % test). For a folder of idx files, they are the test files. Use a table only if the
// owner of the data agrees.
//
// A [Set] holds features, labels and the privacy unit of every row. [Open] reads a table ([ReadTable]), a
// folder of idx files ([DirFS]), an NPY or idx file, or a folder of images. [Data.Task] splits the data:
//
//	data, err := dataset.Open("visits.csv", dataset.Options{CSV: dataset.CSVOptions{Label: "outcome"}})
//	task, err := data.Task(dataset.Literature)
//	// task.Private, task.Pool, task.Test
//
// If private and public rows are in different files, read both with one [Schema]. [ReadPublic] makes the
// schema from the public rows. The files may be CSV, Parquet, NPY, idx or folders of images.
//
//	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: "public.csv"}, reading)
//	private, err := schema.ReadPrivate(dataset.Source{Path: "private.csv"})
//
// # Guarantee
//
// Loading and splitting cost no privacy budget. Pixels are divided by the constant 255. A table is encoded by
// an [Encoder] that is fitted on the public pool without labels, so features do not depend on private rows.
// Images are split by position, in the order of publication. Tables are split by a hash of the unit with a
// public constant. So all rows of a unit are in one part, and another run gives the same split.
//
// Classes ([ClassRule]), header, separator and columns are not derived from private rows either. A private
// row whose label is not a class is refused or treated as declared. No content of a feature cell is an error.
//
// Sizes in the header of a file are not trusted. Memory grows with the bytes that are read. Unpacked data
// above 1 GiB and tables above 1 GiB of memory are refused. Pipes and devices are refused before they are
// opened.
//
// Without a unit column, a row of a table is identified by its content. The ids of the pool count only rows
// of the pool. So adding or removing a private row does not change the name of another unit, the part of
// another unit, or a released id.
//
// # Caveats
//
// An error may reveal a private row, for example a label that is not a class or a row that is not valid CSV.
// Such an error is marked as being for the owner of the data alone. The occurrence of the error is also for
// the owner alone, because the guarantee covers releases only. With ClassRule.Other no label is refused.
//
// The number of private units is assumed to be public. With DropOther, the number of remaining units is
// public. The header of a table is the first line and is assumed to be public.
//
// Images in idx files are named by position, for example "train/17". In a neighbouring data set all other
// images keep their names. Removing an image so that later images move up does not give a neighbouring data
// set: the later images may move to other teachers. The same holds for the boundaries between parts in
// [Development].
//
// Task.Pool.Y holds labels of the pool only for the baseline of a student trained on true labels. A private
// pipeline must not read these labels.
package dataset
