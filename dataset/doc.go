// Package dataset reads labelled data and splits the rows into private rows, a public pool and test rows.
//
// The pool and the test rows are treated as PUBLIC and get no protection. The protocol [Literature] puts 20 %
// of a table's units into the pool and 10 % into the test rows. Split a table only if the owner of the data
// agrees that these 30 % become public. In a folder of idx files, Literature makes only test files public.
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
// Loading and splitting cost no privacy budget. Pixels are divided by the constant 255. The [Encoder] of a
// table is fitted on the features of the public pool alone. A folder of idx files is split by the positions
// of its images. All other data are split by a hash of the unit's name. So all rows of a unit are in one
// part, and every run gives the same split.
//
// Classes, header, separator and columns are not derived from private rows. [ClassRule] determines what
// happens to a private row with a label that is not a class. A feature cell may have any content.
//
// Sizes in file headers are not trusted: memory is allocated as bytes are read. Files above 1 GiB of unpacked
// data, and tables above 1 GiB of memory, are refused. Pipes and devices are refused.
//
// Without a unit column, a row of a table is identified by its content. The id of a pool row, such as
// "pool/17", is the index of the row in the pool. So adding or removing a private row changes no released id,
// and no name or part of another unit.
//
// # Caveats
//
// An error may reveal a private row, for example a label that is not a class or a row that is not valid CSV.
// The text of such an error states that it is for the owner of the data alone. The guarantee does not cover
// errors, so their occurrence is also for the owner alone. If ClassRule.Other is set, every label is
// accepted.
//
// The number of private units is assumed to be public. If [DropOther] drops rows of a unit, the unit still
// counts. The header of a table is the first line and is assumed to be public.
//
// Images of a folder of idx files are named by position, such as "train/17". The guarantee assumes that an
// image has the same name in both neighbouring data sets. The guarantee does not cover removing an image and
// renumbering later images.
//
// Task.Pool.Y holds the true labels of the pool, for evaluation and baselines. A private pipeline must not
// read these labels.
package dataset
