// Package tokens answers single questions over a huge public universe of tokens, such as the vocabulary of a
// language model. The teachers hold private documents, and vote for a token or score tokens. A mechanism
// answers one question at a time within caps that are charged in advance:
//
//   - [GNMax] and [Confident] take sparse counts of votes. Their answers have the same distributions as with
//     aggregate.GNMax and aggregate.ConfidentGNMax.
//   - [Screen] answers with the public model's token while most teachers agree. Otherwise another mechanism
//     answers.
//   - [Limited] answers with one of the tokens with the most votes, or declines.
//   - [Clipped] draws a token of a public list by clipped log-probabilities.
//
// Teachers may vote for tokens that they choose by shared public randomness (see [Coordinated]).
//
// # Guarantee
//
// The event of a mechanism charges a whole run: all queries that the caps allow, answered or not. Each
// record must affect only one teacher. This teacher must not vary between questions. So a record changes at
// most one vote or one contribution for each question. Each token of a generated text is one query, also the
// stop token. All noise is exact integer noise.
//
// # Caveats
//
//   - The time of an answer depends on the number of tokens with votes, which is private.
//   - The caller must refuse to repeat a query number with other inputs, because the noise would be the same.
package tokens
