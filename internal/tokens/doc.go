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
// The event of a mechanism charges all queries that the caps allow, answered or not. Each record must affect
// only one teacher, the same for all questions. So a record changes at most one vote or one contribution for
// each question. Each token of a generated text, including the stop token, is one query. All noise is exact
// integer noise.
//
// # Caveats
//
//   - The time of an answer depends on the private number of tokens with votes.
//   - The caller must refuse to repeat a query number with other inputs, because the noise would be the same.
package tokens
