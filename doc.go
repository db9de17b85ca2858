// Package pate labels public data with the votes of private teachers, and trains models on private data. The
// labels and models are differentially private.
//
//	budget := pate.Budget{Epsilon: 2, Delta: 1e-5, Ledger: "run.jsonl"}
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 6})
//	labels, err := pate.Label(ctx, source, pate.LabelOptions{Budget: budget, Out: "labels.csv"})
//	trained, err := pate.Train(ctx, model, data, config, pate.TrainOptions{Budget: other, Out: "my.model"})
//	published, err := pate.Publish(ctx, pate.PublishOptions{Budget: third, Out: "release", Private: private,
//		Public: public, Reading: reading})
//
// [Label] chooses the mechanism, the noise and the number of queries for the most correct labels. The choice
// depends on public values and, by default, on a charged pilot release. [Train] chooses the least noise that
// fits the budget. [Publish] trains a student from private rows and writes a folder with its own ledger. Each
// function charges the ledger before it draws noise. A second call with the same arguments resumes an
// interrupted run or returns the finished release, at no further cost.
//
// # Guarantee
//
// All releases committed to one ledger are together (Epsilon, Delta)-differentially private for the ledger's
// privacy unit. For labels, the unit is all records of one teacher. For training, the unit is one row of the
// data. Neighbouring data sets differ by adding or removing one unit.
//
// # Caveats
//
// The costs of two ledgers on the same people add up, but no file contains the sum. Votes, teacher models,
// keys and the file LEDGER.id are secret. Labels, model files and ledgers are public.
package pate
