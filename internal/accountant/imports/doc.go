// Package imports reads the accounts of other libraries into events of package accountant, so that numbers
// can be compared on the same schedule.
//
//	schedule, err := imports.DPAccounting(strings.NewReader("GaussianDpEvent(noise_multiplier=2.0)"))
//
// # Guarantee
//
// An event is read only when one of ours means exactly the same, under the relation of the schedule
// returned; rounding, where a parameter has to be converted, is towards more cost. Everything else is an
// *UnsupportedError.
//
// # Caveats
//
// Neither format holds its relation, nor the sampler that really ran: the caller vouches that a Poisson
// sampled step was Poisson sampled. The noise multipliers read are relative to a clipping norm, which is
// the sensitivity under add_remove alone, so add_remove is the relation unless an event exists under
// replace_one only; the two cannot be mixed.
package imports
