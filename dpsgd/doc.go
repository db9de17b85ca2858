// Package dpsgd trains a model by differentially private stochastic gradient
// descent: the gradient of every record is clipped to a fixed norm, noise
// scaled to that norm covers the sum, and nobody can tell from the trained
// model - or from any model on the way to it - whether one record was used.
//
// One step, on data of n records:
//
//  1. every record joins the batch independently with probability q;
//  2. the gradient g of each is scaled by min(1, C/|g|), C the clip norm;
//  3. the sum is put on an integer grid and exact discrete Gaussian noise of
//     standard deviation just above NoiseMultiplier times C is added;
//  4. the result divided by q n, the expected and never the actual batch size,
//     takes the place of the gradient in a step of gradient descent.
//
// A batch may be empty; its step is noise alone. A gradient that is not finite
// counts as zero. Per-example norms, scaling and the sum take one backward
// pass: see [Model].
//
// [Config] has the variants the field knows: update rules with a memory
// ([github.com/pate-go/pate/dpsgd/optim]), learning rates and noise that move on
// a schedule fixed in advance, clipping by group, automatic clipping, a clip norm
// that follows a quantile of the norms, averages of iterates, everybody in every
// step, Laplace noise for one parameter. [Augment] trains on several views of every record. [Sum] is a
// single release of everybody's contribution, for private means and the like.
//
// # Cost
//
// Batches are streamed, 256 records at most at a time, so that a logical batch
// may be of any size: physical micro-batches are not the caller's concern. Beside
// the model, the memory is twelve bytes a parameter for every goroutine, eight
// for the noise, eight for the gradient, eight for each number the update rule
// remembers of a parameter, and a few words for every record.
//
// # Guarantee
//
// The sequence of all iterates is what [Config.Event] says: Steps adaptive
// repetitions of a Poisson-sampled Gaussian mechanism with the stated noise
// multiplier (Abadi et al. 2016, Algorithm 1), for the relation "one record
// added or removed" and the unit "one row of the data". With adaptive clipping
// the multiplier is that of sum and count together. Learning rates, update rules
// and averages are computed from what was released. Replacing a record is
// another relation and costs more; no event here stands for it. [Train] charges
// before step 0: it runs only on a ledger reservation for exactly that event.
// Whoever the ledger names as its unit must have one row at most: with k rows
// their privacy is that of a group of k, and no ledger can see it.
//
// The claim holds for the numbers the machine computes, not only for the real
// numbers of the paper. What floating point does to the sum is bounded beside
// the type grid, and the noise is inflated to cover it, by at most two parts in a
// thousand, or three above 65,536 parameters. The sampling probability is the
// exact binary fraction of the float64 and is compared with random integers. The noise is an exact sampler's;
// its Renyi divergences at integer orders, sampled or not, are those of the
// continuous Gaussian, and at other orders differ by less than 2^-1000. For
// accountants of the privacy loss distribution, see Caveats.
//
// # Caveats
//
//   - The number of records n is public: the divisor q n and the number of
//     summation blocks come from it. It is [Config.Records], or the number of
//     rows of the data, which is then made public; in the proof neighbouring data
//     sets have the same n.
//   - The key must be secret and, for a release, come from [NewKey]. All
//     randomness is a function of the key and of a hash of configuration, data
//     and initial parameters; noise is one of the sum that it is added to as
//     well. So a repeated run repeats its answer, and two different sums never
//     meet the same noise, not even where two machines round differently. A run
//     with a [SeedKey] is marked not releasable.
//   - [Diagnostics] are private and unprotected, and so is the running time. The
//     rest of [Metrics] may be shown.
//   - The event is charged as a whole. A run that ends early has spent
//     it: what [Metrics] says of the steps so far is for the eye.
//   - Features must be public functions of their own row. Statistics fitted on
//     the data, hyper-parameters and stopping points chosen on it cost privacy
//     that nothing here charges.
//   - The discrete law differs from the continuous Gaussian rounded to the grid
//     by at most 1/(24 s^2) in total variation per parameter and step, s >=
//     2^32 the standard deviation in grid units. A bound by hockey-stick
//     divergence (PLD) derived for the continuous law therefore holds with
//     delta larger by [LatticeDelta]: 1e-10 for 62,740 parameters, 200
//     steps and epsilon 8.
//
// # Use
//
//	model, err := nn.NewSoftmax(cols, classes)
//	reservation, err := budget.Reserve(cfg.Event())
//	result, err := dpsgd.Train(ctx, model, data, cfg, reservation, key)
package dpsgd
