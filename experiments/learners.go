package experiments

import (
	"crypto/sha256"
	"fmt"

	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/teachers"
)

// Learners of teachers, of package training.
const (
	KernelRidge = training.KernelRidge
	KNN         = training.KNN
)

// Learners lists the names.
func Learners() []string { return training.Learners() }

// fingerprint names a learner and its parameters in a checkpoint.
func fingerprint(l teachers.Learner) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "pate checkpoint 1: %T %+v", l, l))
}
