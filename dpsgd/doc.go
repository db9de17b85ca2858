// Package dpsgd trains a model by differentially private stochastic gradient descent. It clips the gradient
// of every record to a fixed norm, sums the gradients and adds noise scaled to that norm. This bounds how
// much the trained model, and every model on the way, reveals about whether one record was used.
//
// One step, on data of n records:
//
//  1. Every record joins the batch independently with probability q, or by another scheme of [Sampling].
//  2. The gradient g of each record is scaled by min(1, C/|g|), where C is the clip norm.
//  3. The sum is put on an integer grid, and exact discrete Gaussian noise is added. Its standard deviation
//     is just above NoiseMultiplier times C.
//  4. The result is divided by q n, the expected and never the actual batch size, and is used as the
//     gradient.
//
// A batch may be empty: its step is noise alone. A gradient that is not finite counts as zero. [Config] has
// the variants of the literature: update rules with a memory ([github.com/pate-go/pate/dpsgd/optim]),
// schedules of rates and noise, clipping by group, automatic and adaptive clipping, averages of iterates,
// every record in every step, Laplace noise for one parameter. [Augment] trains on several views of every
// record. [Sum] is a single release of the sum of all contributions, for example for a private mean.
//
// Batches are streamed, at most 256 records at a time, so a logical batch may have any size. In addition to
// the model, the memory is twelve bytes per parameter and goroutine, eight per number that the update rule
// keeps, and a few 64-bit words per record.
//
// # Guarantee
//
// [Config.Event] describes the sequence of all iterates: Steps adaptive repetitions of a Poisson-sampled
// Gaussian mechanism with the stated noise multiplier (Abadi et al. 2016, Algorithm 1), for one record added
// or removed, where a record is one row of the data. With adaptive clipping the multiplier covers sum and
// count together. Learning rates, update rules and averages are computed from the releases. Replacing a
// record is another relation and costs more; Event does not cover it.
//
// [Train] charges before step 0: it runs only on a ledger reservation for exactly that event. Each privacy
// unit that the ledger names must be one record: one row, or with Data.Ends all rows of the unit.
//
// The claim holds for the numbers that the machine computes, not only for the real numbers of the paper. The
// comment on the type grid bounds the effect of floating point on the sum. The noise is enlarged to cover it,
// by at most two parts in a thousand, or three above 65,536 parameters. The sampling probability is the exact
// binary fraction of the float64 and is compared with random integers. The noise comes from an exact sampler.
// Its Renyi divergences at integer orders, sampled or not, equal the continuous Gaussian's. At other orders
// they differ by less than 2^-1000. For accountants of the privacy loss distribution, see Caveats.
//
// # Sampling
//
// In addition to Poisson batches [Sampling] has random allocation, where every record is in k of the t steps
// of each epoch, and balls in bins, where every record is in the same one of t batches in all epochs. Every
// record's steps are drawn for it alone, so batch sizes are random; sums are divided by the expected size.
// With the scheme [Cyclic] the noise of steps is correlated: a step subtracts part of the earlier noise, so
// sums over many steps have less noise (banded matrix factorisation, Choquette-Choo et al. 2023). It needs
// eight more bytes for each parameter and band. All iterates are still covered.
//
// # Units of several rows
//
// With Data.Ends a record is all rows of a unit. A unit in the batch contributes the mean gradient of its
// rows, clipped as a whole: one vector of norm at most C, however many rows it has. So the event is the same
// as for single rows. No cheaper event exists: a unit of equal rows reaches the worst case of a single row.
// Rows sampled and clipped one by one would give a unit of k rows the privacy of a group of k: the unit is in
// a batch with probability 1-(1-q)^k, and may move the sum by k C. Rows clipped to C/k would have the same
// event, but shorter sums. The mean costs two more passes over the parameters for each unit.
//
// If Data.Ends is nil but a unit has k rows, the unit has the privacy of a group of k. A ledger cannot detect
// that.
//
// # Caveats
//
//   - The number of records n is public: the divisor q n and the number of summation blocks come from it. It
//     is [Config.Records], or the number of rows of the data, which is then made public. In the proof
//     neighbouring data sets have the same n.
//   - The key must be secret and, for a release, come from [NewKey]. All randomness is a function of the key
//     and of a hash of configuration, data and initial parameters. Noise is also a function of the sum that
//     it is added to. So a repeated run gives the same result, and two different sums never get the same
//     noise, except with probability 2^-128, not even if two machines round differently. A run with a
//     [SeedKey] is marked not releasable.
//   - [Diagnostics] are private and unprotected, and so is the running time. The rest of [Metrics] may be
//     shown.
//   - The event is charged as a whole. A run that ends early has spent it.
//   - Features must be public functions of their own row. Statistics fitted on the data, and hyper-parameters
//     and stopping points chosen on the data, cost privacy that this package does not charge.
//   - The discrete distribution differs from the continuous Gaussian rounded to the grid by at most
//     1/(24 s^2) in total variation per parameter and step, where s >= 2^32 is the standard deviation in grid
//     units. A bound by hockey-stick divergence (PLD) for the continuous noise therefore holds with delta
//     larger by [LatticeDelta]: 1e-10 for 62,740 parameters, 200 steps and epsilon 8.
//
// # Use
//
//	model, err := nn.NewSoftmax(cols, classes)
//	reservation, err := budget.Reserve(cfg.Event())
//	result, err := dpsgd.Train(ctx, model, data, cfg, reservation, key)
package dpsgd
