// Package published holds a student for publication. The student is trained on released labels and public
// rows. Its file contains everything needed to predict new rows, and the provenance of the labels.
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
// A file consists of JSON and its hash. [Model.Export] writes only the JSON. A few lines in any language can
// predict with it. The file contains the encoding of rows as features ([dataset.Schema]), the parameters, the
// class names, and the [Provenance] of the labels.
//
// # Guarantee
//
// A student depends only on released labels, public rows and random numbers derived from the labels. The
// student has the (epsilon, delta) guarantee of the labels at no further cost (see package student). Equal
// inputs give equal files.
//
// A model trained on private rows by DP-SGD ([FromModel]) has the same file format and predictions. The
// guarantee of such a model comes from the training, whose ledger contains the hash of the file.
//
// # Caveats
//
// The file contains public rows or their features, as landmarks of kernels. The hash detects damage but does
// not authenticate the maker of a file. The provenance is stated by this maker. `pate ledger verify` checks
// whether the labels were released.
package published
