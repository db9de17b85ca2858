// Package tokens answers single questions over a huge public universe of tokens, such as the vocabulary of a
// language model. The teachers hold private documents, and vote for a token or score tokens. A mechanism
// answers one question at a time within caps that are charged in advance:
//
//   - [GNMax] and [Confident] take sparse counts of votes. They have the law of the dense mechanisms of
//     package aggregate.
//
// # Guarantee
//
// The event of a mechanism charges a whole run. One record changes at most one vote of each question, always
// of the same teacher. All noise is exact integer noise.
//
// # Caveats
//
//   - The time of an answer depends on the number of tokens with votes.
//   - The same query with other inputs must be refused: its noise would be used twice.
package tokens
