// Package rng is where every random number of the toolkit comes from: keys,
// the streams they unfold into, and exact samplers of integer noise.
//
// A run has one [Key], 256 secret bits. Everything random derives from it by
// name ([Key.Derive], a pseudo-random function): the partition of the records,
// each teacher's training, the noise of each query. Hence two things never
// share a stream, the order in which they run does not matter, and an
// interrupted run that resumes repeats the same noise instead of drawing fresh
// noise for a question it has already answered.
//
// A [Stream] is ChaCha8 keyed by a Key. The samplers [BernoulliExp],
// [DiscreteLaplace] (with its geometric half) and [DiscreteGaussian] read a
// stream of uniform bits and return integers; given uniform bits their laws are
// exact. No floating-point number is touched while sampling, so the attacks on floating-point noise (Mironov 2012; Jin et al.
// 2022) have nothing to hold. Machine words are compared with integers proven to
// enclose what they stand for; where that leaves a doubt, big integers and
// further bits of the stream settle it. Nowhere is a probability rounded.
// [RoundedNormal] draws continuous noise and rounds it to a grid, also exactly, for
// noise whose size is itself a secret; its time depends on that size.
//
//	key, err := rng.NewKey()
//	noise, err := rng.NewDiscreteGaussian(40)
//	z := noise.Sample(key.Derive("gnmax", query).Stream())
//
// # Guarantee
//
// With a key from [NewKey], and as far as HMAC-SHA256 is a pseudo-random
// function and ChaCha8 a pseudo-random generator, what a sampler returns
// cannot be told from independent draws of its exact law.
//
// # Caveats
//
// Keys from [SeedKey] have at most 64 bits of entropy and are usually written
// in a script: whoever knows the seed subtracts the noise. Such keys, and every
// key derived from them, say Releasable() == false, for ever. The samplers look
// things up and reject, so the time they take and the memory they touch depend on
// the noise drawn; draw all noise before the protected values are read, and the
// time says nothing about those. The first draw of a sampler makes its table, in
// up to 5 ms.
package rng
