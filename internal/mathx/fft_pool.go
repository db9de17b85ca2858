package mathx

import "sync"

// idle holds a pool for every length that was asked for, a few hundred at most. What nobody
// borrows for a while is freed.
var idle sync.Map // of *sync.Pool of *FFT, by length

// BorrowFFT returns transforms of length n, of those that were returned if there are any: to
// make their roots takes about as long as to use them.
func BorrowFFT(n int) *FFT {
	if pool, ok := idle.Load(n); ok {
		if f, ok := pool.(*sync.Pool).Get().(*FFT); ok {
			return f
		}
	}
	return NewFFT(n)
}

// Return gives transforms back, which must not be used any more.
func (f *FFT) Return() {
	pool, ok := idle.Load(f.n)
	if !ok {
		pool, _ = idle.LoadOrStore(f.n, new(sync.Pool))
	}
	pool.(*sync.Pool).Put(f)
}
