// Package teachertest checks that a teachers.Learner keeps the promises of its
// interface, as testing/slogtest does for handlers.
//
// The obligations are those in the comments of teachers.Learner,
// teachers.Classifier and teachers.Reproducible: that it learns at all, refuses
// what is malformed, keeps its hands off its inputs, answers on shares that are
// empty or have one class, stops when told to and depends on nothing but its
// share and its random stream. Run it under the race detector, since one part
// fits several teachers at once.
//
// # Caveats
//
// All data are synthetic and small: what passes is well-behaved, not good.
// That a learner draws no randomness but from the stream it is given can be
// seen for learners that say they are reproducible only.
//
// # Use
//
//	func TestLearner(t *testing.T) {
//		teachertest.TestLearner(t, func() teachers.Learner { return MyLearner{} }, teachertest.Options{})
//	}
package teachertest
