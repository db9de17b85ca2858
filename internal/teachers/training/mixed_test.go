package training

import (
	"testing"

	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/teachertest"
	"github.com/pate-go/pate/teachers/trees"
)

func TestMixedForestIsALearner(t *testing.T) {
	l := mixedForest{Best: trees.Forest{Trees: 10}, Random: trees.Forest{Trees: 10, Thresholds: trees.RandomThresholds}}
	teachertest.TestLearner(t, func() teachers.Learner { return l }, teachertest.Options{})
}
