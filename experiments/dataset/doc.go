// Package dataset reads labelled data and splits it into what PATE needs: rows
// that are private, an unlabelled public pool, and rows that score.
//
// A [Set] holds features, labels and the unit of privacy of every row. Images
// come from idx files ([MNIST] is embedded, [Dir] reads any folder of the same
// shape), tables from CSV ([CSV]). [Open] takes whatever a user types and
// [Data.Task] splits it:
//
//	data, err := dataset.Open("mnist", dataset.CSVOptions{})
//	task, err := data.Task(dataset.Literature)
//	// task.Private, task.Pool, task.Test
//
// # Guarantee
//
// Loading and splitting cost no privacy budget. Pixels are divided by the
// constant 255. A table is encoded by an [Encoder] fitted on the rows of the
// public pool alone and without their labels, so no private row shapes a
// feature. Splits are by position (images, the order of publication) or by a
// hash of the unit with a public constant (tables), so one unit is never on two
// sides and a rerun gives the same split.
//
// Sizes claimed by a file are never believed: memory grows with the bytes that
// are really there, and unpacked data beyond [MaxBytes] are refused.
//
// # Caveats
//
// The set of class names and the column names are taken from the whole file:
// they are assumed to be public knowledge, as the schema of a data set is. Where
// the mere existence of a class is a secret, do not use this package on it.
//
// Labels of the pool are kept in Task.Pool.Y for one purpose: the baseline that
// shows what a student would reach with true labels. A private pipeline must not
// read them.
package dataset
