// Package rng has keys, bit streams and exact integer samplers for all random numbers of the toolkit.
//
// A run has one [Key] of 256 secret bits. [Key.Derive] derives a key for each name, for example for the noise
// of each query. So no two purposes use the same stream, and the order of the draws has no effect. A resumed
// run repeats the noise.
//
// A [Stream] is ChaCha8 keyed by a Key. The samplers [DiscreteLaplace] (also one-sided) and
// [DiscreteGaussian] read uniform bits and return integers. If the bits are uniform, the distributions are
// exact. Sampling uses no floating-point numbers. So the attacks on floating-point noise (Mironov 2012; Jin
// et al. 2022) do not apply. The samplers compare random 64-bit words with integers that provably enclose a
// real threshold. If these integers do not decide, the samplers use big integers and more bits of the stream.
//
// [RoundedNormal] draws continuous noise and rounds it exactly to a grid. Use RoundedNormal for noise with a
// secret standard deviation. The running time depends on the standard deviation.
//
//	key, err := rng.NewKey()
//	noise, err := rng.NewDiscreteGaussian(40)
//	z := noise.Sample(key.Derive("gnmax", query).Stream())
//
// # Guarantee
//
// Assume that the key comes from [NewKey], that HMAC-SHA256 is a pseudo-random function and that ChaCha8 is a
// pseudo-random generator. Then the values of a sampler cannot be distinguished from independent draws of its
// exact distribution.
//
// # Caveats
//
//   - Keys from [SeedKey] have at most 64 bits of entropy. Anyone with the seed can subtract the noise. For
//     such keys, and all keys derived from them, [Key.Releasable] returns false.
//   - The time and memory accesses of the samplers depend on the noise. Draw all noise before the protected
//     values are read. The time then does not depend on these values.
//   - The first draw of a sampler computes a table, in up to 5 ms.
package rng
