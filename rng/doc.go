// Package rng draws every random number of the toolkit. It has keys, bit streams and exact integer samplers.
//
// A run has one [Key] of 256 secret bits. All randomness of the run is derived from this key by names
// ([Key.Derive], a pseudo-random function): the partition of the records, each teacher's training, the noise
// of each query. So no two purposes use the same stream, and their order does not matter. A resumed run
// repeats the noise.
//
// A [Stream] is ChaCha8 keyed by a Key. The samplers [DiscreteLaplace] (with its geometric half) and
// [DiscreteGaussian] read a stream of uniform bits and return integers. If the bits are uniform, the
// distributions are exact. Sampling uses no floating-point numbers. So the attacks on floating-point noise
// (Mironov 2012; Jin et al. 2022) do not apply. The samplers compare 64-bit words with integers that provably
// enclose the real numbers in question. If these do not decide, they use big integers and more bits of the
// stream.
//
// [RoundedNormal] draws continuous noise and rounds it to a grid, also exactly. It is for noise whose size is
// itself a secret. The running time depends on this size.
//
//	key, err := rng.NewKey()
//	noise, err := rng.NewDiscreteGaussian(40)
//	z := noise.Sample(key.Derive("gnmax", query).Stream())
//
// # Guarantee
//
// Let the key come from [NewKey]. Let HMAC-SHA256 be a pseudo-random function and ChaCha8 a pseudo-random
// generator. Then the values of a sampler cannot be distinguished from independent draws of its exact
// distribution.
//
// # Caveats
//
//   - Keys from [SeedKey] have at most 64 bits of entropy. Anyone with the seed can subtract the noise. For
//     such keys, and all keys derived from them, [Key.Releasable] returns false.
//   - The samplers look up tables and reject, so their time and memory accesses depend on the noise. Draw all
//     noise before the protected values are read. The time then does not depend on these values.
//   - The first draw of a sampler makes its table, in up to 5 ms.
package rng
