// Package pate labels public data with votes of private teachers, and trains models on private data, both
// with differential privacy. One call charges the ledger, draws noise, commits and closes, in this order.
//
//	budget := pate.Budget{Epsilon: 2, Delta: 1e-5, Ledger: "run.jsonl"}
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 6})
//	labels, err := pate.Label(ctx, source, pate.LabelOptions{Budget: budget, Out: "labels.csv"})
//	trained, err := pate.Train(ctx, model, data, config, pate.TrainOptions{Budget: other, Out: "my.model"})
//	published, err := pate.Publish(ctx, pate.PublishOptions{Budget: third, Out: "release", Private: private,
//		Public: public, Reading: reading})
//
// [Label] chooses from public numbers alone the mechanism, the noise and the number of queries that give the
// most correct labels; [Train] finds the noise for the budget; [Publish] goes from private rows to a
// student, in a folder with a ledger of its own. Each call charges the ledger before it draws noise; package
// accountant/statement makes a statement from the ledger. A call that is repeated with the same arguments
// resumes an interrupted run or returns the release, at no further cost. The calls use packages
// teachers/label, dpsgd, internal/dpsgd/recipe, accountant/ledger and run.
//
// # Guarantee
//
// All releases committed to one ledger are together (Epsilon, Delta)-differentially private, for the privacy
// unit of the ledger: for labels the records of one teacher, in training one row of the data. The relation
// is one unit added or removed.
//
// # Caveats
//
// The costs of two ledgers for the same people add up, and no file shows the sum. Votes, models of teachers,
// LEDGER.id and keys are secret; labels, the trained model's file and the ledger are not.
package pate
