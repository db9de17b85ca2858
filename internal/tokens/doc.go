// Package tokens answers single questions over a huge public universe of tokens, such as the vocabulary of a
// language model. The teachers hold private documents, and vote for a token or score tokens. A mechanism
// answers one question at a time within caps that are charged in advance:
//
//   - [GNMax] and [Confident] take sparse counts of votes. They have the law of the dense mechanisms of
//     package aggregate.
//   - [Screen] answers with the public model's token while most teachers agree. Otherwise another mechanism
//     answers.
//   - [Limited] answers with one of the tokens with the most votes, or declines.
//   - [Clipped] draws a token of a public list by clipped log-probabilities.
//
// Teachers may vote for tokens that they choose by shared public randomness (see [Coordinated]).
//
// # Guarantee
//
// The event of a mechanism charges a whole run, and all its queries, answered or not. One record must change
// at most one vote or one contribution of each question, always of the same teacher. The number of tokens of
// a text is charged as the number of queries, so stop tokens are answers like any other. All noise is exact
// integer noise.
//
// # Caveats
//
//   - The time of an answer depends on the number of tokens with votes, which is private.
//   - The same query with other inputs must be refused: its noise would be used twice.
package tokens
