// Package pate labels public data with the knowledge in private data, and trains models on private data,
// privately: each in one call that keeps the order of charge, noise, commit and close.
//
//	budget := pate.Budget{Epsilon: 2, Delta: 1e-5, Ledger: "run.jsonl"}
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 6})
//	labels, err := pate.Label(ctx, source, pate.LabelOptions{Budget: budget, Out: "labels.csv"})
//	trained, err := pate.Train(ctx, model, data, config, pate.TrainOptions{Budget: other, Out: "my.model"})
//	published, err := pate.Publish(ctx, pate.PublishOptions{Budget: third, Out: "release", Private: private,
//		Public: public, Reading: reading})
//
// [Label] plans from public numbers alone which mechanism, which noise and how many queries give the most
// right labels; [Train] finds the noise for the budget; [Publish] goes from private rows to a student, in a
// folder with a ledger of its own. All charge the ledger before anything is drawn, and leave a ledger from
// which package accountant/statement writes a page. Called again with the same arguments they go on where
// they were interrupted, or return the release, at no further cost. They are made of packages
// teachers/label, dpsgd, internal/dpsgd/recipe, accountant/ledger and run.
//
// # Guarantee
//
// Everything committed to a ledger is together (Epsilon, Delta)-differentially private, for the unit that
// the ledger names: the records of one teacher, and in training one row of the data. The relation is one
// unit added or removed.
//
// # Caveats
//
// Two ledgers for the same people add up, and no file shows it. Votes, models of teachers, LEDGER.id and
// keys are secret; labels, the trained model's file and the ledger are not.
package pate
