// Package plain holds fitted models as data: numbers that a file or JSON can store and that a program in any
// language can evaluate from their description alone.
//
// A [Model] has exactly one part: a constant, a softmax regression, a kernel regression on landmarks, trees,
// or the mean of several models. Numbers and arithmetic are float64, so that another program agrees up to
// rounding. Features are float32, and trees compare them as float32.
//
// # Guarantee
//
// [Model.Check] accepts a model only if every index is in range, every number is finite and every walk down a
// tree ends. An accepted model never panics, for any rows.
package plain
