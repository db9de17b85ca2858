// Package teachertest checks that a teachers.Learner obeys the rules of its interface.
//
// The rules are in the comments of teachers.Learner, teachers.Classifier and teachers.Reproducible:
//
//   - The learner learns, and refuses malformed data.
//   - It does not change its inputs.
//   - It returns a model for data that are empty or have one class.
//   - It stops when the context is cancelled.
//   - Its model depends only on the training data and the random stream.
//
// Run these tests under the race detector, because one check trains several models at once.
//
// # Caveats
//
//   - All data are synthetic and small, so a learner that passes may be inaccurate on other data.
//   - Randomness from another source than the random stream is detected only if the learner is Reproducible.
//
// # Use
//
//	func TestLearner(t *testing.T) {
//		newLearner := func() teachers.Learner { return MyLearner{} }
//		teachertest.TestLearner(t, newLearner, teachertest.Options{})
//	}
package teachertest
