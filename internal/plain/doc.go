// Package plain describes fitted models by numbers. Such a description can be stored as JSON, and evaluated
// by a program in any language.
//
// A [Model] has exactly one part: a constant, a softmax regression, a kernel regression on landmarks, trees,
// or a mean of models. Numbers and arithmetic are float64. Features are float32, and trees compare them as
// float32.
//
// # Guarantee
//
// [Model.Check] accepts a model only if all indices are in range, all numbers are finite, and every path down
// a tree ends at a leaf. An accepted model scores any rows without a panic.
package plain
