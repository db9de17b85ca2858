//go:build !cgo

package golearn

import "github.com/pate-go/pate/teachers"

// NewKNN returns [ErrNeedsCgo], because golearn computes nearest neighbours in C.
func NewKNN(neighbours int, pool Pooling) (teachers.Learner, error) { return nil, ErrNeedsCgo }
