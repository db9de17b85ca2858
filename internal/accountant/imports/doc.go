// Package imports reads the accounts of other libraries as events of package accountant, so that epsilons can
// be compared on the same schedule.
//
//	schedule, err := imports.DPAccounting(strings.NewReader("GaussianDpEvent(noise_multiplier=2.0)"))
//
// # Guarantee
//
// An event is read only if an event of package accountant means exactly the same, under the relation of the
// returned schedule. If a parameter has to be converted, it is rounded towards higher cost. Everything else
// is an *UnsupportedError.
//
// # Caveats
//
// Neither format records its relation, nor the sampler that really ran: the caller must make sure that a
// Poisson sampled step was Poisson sampled. Noise multipliers are relative to a clipping norm, which is the
// sensitivity only under add_remove. So add_remove is the relation, unless an event exists only under
// replace_one; the two cannot be mixed.
package imports
