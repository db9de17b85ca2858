// Package published trains a student that may be published, and writes and reads its file. The student learns
// from released labels and public rows. To predict new rows, only this file is needed.
//
//	schema, pool, err := dataset.ReadPublic(source, reading)
//	labels, err := published.ReadLabels(file, pool.Len(), classes)
//	model, err := published.Train(ctx, published.Config{Schema: schema, Pool: pool, Labels: labels})
//	err = model.Save("student.model")
//
//	model, err := published.Open("student.model")
//	rows, err := model.Rows.ReadNew(dataset.Source{Path: "new.csv"})
//	predictions, err := model.Predict(ctx, rows)
//
// A file consists of JSON and a hash. [Model.Export] writes only the JSON, for other languages. The JSON
// contains the encoding of rows ([dataset.Schema]), the parameters, the class names and the [Provenance] of
// the labels.
//
// # Guarantee
//
// A student depends only on released labels and public rows. Random numbers are derived from the labels. So
// the (epsilon, delta) guarantee of the labels covers the student (see package student). Equal inputs give
// equal files.
//
// A model trained on private rows by DP-SGD ([FromModel]) has the same file format. The guarantee of such a
// model comes from the training. The ledger of the training contains the hash of the file.
//
// # Caveats
//
// The file may contain public rows or features of public rows (landmarks of kernels). The hash detects
// damage, but does not authenticate the maker. The provenance is a statement of the maker. The command `pate
// ledger verify` compares the provenance with a ledger.
package published
