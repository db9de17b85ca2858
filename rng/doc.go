// Package rng draws every random number of the toolkit. It has keys, the bit streams that keys expand to, and
// exact samplers of integer noise.
//
// A run has one [Key] of 256 secret bits. All its randomness derives from the key by name ([Key.Derive], a
// pseudo-random function): the partition of the records, each teacher's training, the noise of each query. So
// no two purposes share a stream, their order does not matter, and a resumed run repeats the same noise.
//
// A [Stream] is ChaCha8 keyed by a Key. The samplers [DiscreteLaplace] (with its geometric half) and
// [DiscreteGaussian] read a stream of uniform bits and return integers. If the bits are uniform, the
// distributions are exact. Sampling uses no floating-point number, so the attacks on floating-point noise
// (Mironov 2012; Jin et al. 2022) do not apply. The samplers compare machine words with integers that are
// proven to enclose the real numbers in question; if these do not decide, big integers and further bits of
// the stream do.
//
// [RoundedNormal] draws continuous noise and rounds it to a grid, also exactly. It is for noise whose size is
// itself a secret. Its running time depends on that size.
//
//	key, err := rng.NewKey()
//	noise, err := rng.NewDiscreteGaussian(40)
//	z := noise.Sample(key.Derive("gnmax", query).Stream())
//
// # Guarantee
//
// If the key comes from [NewKey], HMAC-SHA256 is a pseudo-random function and ChaCha8 a pseudo-random
// generator, then the values of a sampler cannot be distinguished from independent draws of its exact
// distribution.
//
// # Caveats
//
//   - Keys from [SeedKey] have at most 64 bits of entropy. Anyone with the seed can subtract
//     the noise. For such keys, and all keys derived from them, [Key.Releasable] returns false.
//   - The samplers look up tables and reject: their time and memory accesses depend on the noise. Draw all
//     noise before the protected values are read, so that the time does not depend on those values.
//   - The first draw of a sampler makes its table, in up to 5 ms.
package rng
