// Package published holds a student for publication, trained on released labels and public rows, with
// everything needed to predict new rows, and its provenance.
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
// A file consists of JSON and its hash. [Model.Export] writes the same JSON alone, with which a few lines in
// any language can predict. The file contains the encoding of rows as features ([dataset.Schema]), the
// model's parameters, names of classes, and the provenance of the labels ([Provenance]): their hash, the
// entry of the ledger, epsilon and delta.
//
// # Guarantee
//
// A student is a function of released labels, public rows and random numbers that follow from the labels'
// hash. It has the (epsilon, delta) of the labels at no further cost; see package student. The same labels
// and public rows give the same file.
//
// A model trained on private rows by DP-SGD ([FromModel]) has the same file format and predictions as a
// student. Its guarantee comes from its training, whose ledger has the hash of the file.
//
// # Caveats
//
// The file holds public rows, or features of public rows: landmarks of kernels. The hash detects damage but
// does not authenticate the maker of a file. The provenance is a claim by this maker; `pate ledger verify`
// checks whether the labels were released.
package published
