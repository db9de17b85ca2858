package teachertest_test

import (
	"testing"

	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/teachertest"
)

func TestKernelRidge(t *testing.T) {
	teachertest.TestLearner(t, func() teachers.Learner { return teachers.KernelRidge{Gamma: .05, Lambda: .1} }, teachertest.Options{})
}

func TestSoftmax(t *testing.T) {
	teachertest.TestLearner(t, func() teachers.Learner { return teachers.Softmax{} }, teachertest.Options{})
}
