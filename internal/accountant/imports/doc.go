// Package imports reads accounts of other libraries as events, to compare epsilons.
//
//	schedule, err := imports.DPAccounting(strings.NewReader("GaussianDpEvent(noise_multiplier=2.0)"))
//
// # Guarantee
//
// An input is read only if an event of package accountant has exactly the same meaning under the returned
// relation. A converted parameter is rounded towards higher cost. All other inputs give an *UnsupportedError.
//
// # Caveats
//
// The formats do not record the sampler. If steps are recorded as Poisson sampled, the caller must ensure
// that they used Poisson sampling. The formats do not record the relation. The recorded noise multipliers are
// relative to a clipping norm, which is the sensitivity only under add_remove. So the returned relation is
// add_remove, unless an event exists only under replace_one. An input that needs both relations is refused.
package imports
