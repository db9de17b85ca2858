// Package published holds the student that leaves: trained on released labels and public rows, with all that
// is needed to ask it about new rows, and its provenance.
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
// A file is sealed by a hash, and JSON inside: [Model.Export] writes the same JSON by itself, from which a
// few lines of any language predict. The file holds how rows become features ([dataset.Schema]), numbers of
// the model, names of classes, and the provenance of the labels ([Provenance]): their hash, the entry of the
// ledger, epsilon and delta.
//
// # Guarantee
//
// A student is a function of released labels, public rows and random numbers that follow from the labels'
// hash. It has the (epsilon, delta) of the labels and costs nothing more; see package student. The same
// labels and public rows give the same file.
//
// A model that learned from private rows itself, by DP-SGD ([FromModel]), has the file and the answers of a
// student. Its guarantee comes from its training, whose ledger has the hash of the file.
//
// # Caveats
//
// The file holds public rows, or features of public rows: landmarks of kernels. A hash finds damage, and does
// not authenticate the maker of a file. `pate ledger verify` checks whether the labels were released: the
// file repeats the claim of its maker.
package published
