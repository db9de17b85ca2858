// Package teachertest checks that a teachers.Learner keeps the promises of its interface, as testing/slogtest
// does for handlers.
//
// The promises are in the comments of teachers.Learner, teachers.Classifier and teachers.Reproducible:
//
//   - The learner learns at all and refuses malformed data.
//   - It leaves its inputs alone.
//   - It answers on shares that are empty or have one class.
//   - It stops when told to.
//   - It depends on nothing but its share and its random stream.
//
// Run the kit under the race detector, because one part fits several teachers at once.
//
// # Caveats
//
//   - All data are synthetic and small: a learner that passes is well-behaved, not good.
//   - The kit can see whether a learner draws randomness from elsewhere only if the learner claims to be
//     reproducible.
//
// # Use
//
//	func TestLearner(t *testing.T) {
//		newLearner := func() teachers.Learner { return MyLearner{} }
//		teachertest.TestLearner(t, newLearner, teachertest.Options{})
//	}
package teachertest
