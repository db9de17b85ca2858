package kernel

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func page[T Float](t *testing.T) []T {
	size := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 9*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	require.NoError(t, syscall.Mprotect(memory[8*size:], syscall.PROT_NONE))
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[0])), 8*size/int(unsafe.Sizeof(T(0))))
}

// TestNothingIsReadBehindTheEnd lets every operand end at a page that is not readable. A read beyond the
// end would kill the process.
func TestNothingIsReadBehindTheEnd(t *testing.T) {
	t.Run("float32", testNothingIsReadBehindTheEnd[float32])
	t.Run("float64", testNothingIsReadBehindTheEnd[float64])
}

func testNothingIsReadBehindTheEnd[T Float](t *testing.T) {
	pages := [3][]T{page[T](t), page[T](t), page[T](t)}
	ints, words := page[float64](t), page[float32](t)
	bytes := unsafe.Slice((*uint8)(unsafe.Pointer(&words[0])), 4*len(words))
	at := func(i, rows, cols int) matrix[T] {
		n := rows * cols
		return matrix[T]{rows: rows, cols: cols, ld: cols, data: pages[i][len(pages[i])-n:]}
	}
	rnd := rand.New(rand.NewPCG(13, 1))
	for range 300 {
		m, n, k := 1+rnd.IntN(40), 1+rnd.IntN(90), 1+rnd.IntN(40)
		for _, p := range products[T]() {
			ar, ac := shape(p.left, m, k)
			br, bc := shape(p.right, k, n)
			p.run(at(0, m, n), at(1, ar, ac), at(2, br, bc), m, n, k)
		}
		a, row := at(0, m, n).data, at(1, 1, n).data
		codes := bytes[len(bytes)-n:]
		taps := []int{0, m*n - n}[:min(m, 2)]
		runs, places := at(2, 2, n).data, []int32{0, int32(m*n - n)}
		for range paths[T]() {
			AddRows(row, a, n, m, n)
			AddToRows(a, n, row, m, n)
			SquaredNorm(a)
			Scale(a, 2, at(2, m, n).data)
			Rectify(a, at(2, m, n).data)
			Gate(a, at(2, m, n).data, a)
			CopyRow(a, at(2, m, n).data, at(2, m, n).data)
			MaxTaps(row, codes, a, taps)
			AddToTaps(a, codes, row, taps)
			CopyRuns(runs, a, places)
			AddRuns(a, runs, places)
		}
		if src, ok := any(row).([]float32); ok {
			to := unsafe.Slice((*int64)(unsafe.Pointer(&ints[len(ints)-n])), n)
			re := any(at(2, 1, n).data).([]float32)
			for range paths[T]() {
				clear(src)
				FoldInt64(to, src, 8)
				doubles := unsafe.Slice((*float64)(unsafe.Pointer(&to[0])), n)
				Descend(src, doubles, 0, 0)
				AddInts(doubles, to, to, 1)
				FoldFloat64(doubles, src)
				AddFloat64(doubles, doubles)
				b := any(a).([]float32) // m by n
				Gaussian(src, 1, re, 1)
				Centre(src, re, src, 1, 1)
				NotBelow(src, re, 1)
				places := []int32{0, int32(m - 1), 0, int32(m - 1)}
				SquaredDistances(re[:min(n, 4)], src, b, n, places[:min(n, 4)])
				NewSparse(m, []int32{0, 2, 4}, places, make([]float32, 4)).MulRows(src, n, 0, 1, b, n, n)
			}
		}
	}
}

func TestStripsStayWithinTheirSlices(t *testing.T) {
	even, odd, src, dst := page[float32](t), page[float32](t), page[float32](t), page[float32](t)
	last := func(x []float32, n int) []float32 { return x[len(x)-n:] }
	for m := 1; m <= 14; m++ {
		for k := 1; k <= 9; k++ {
			mirror := Mirror{Even: last(even, m*k), Odd: last(odd, m*k), M: m, KE: k, KO: k}
			quarters := Quarters{Mirror: mirror, Last: 2*m - 1}
			halves := Halves{Even: last(even, m*k), Odd: last(odd, m*k), M: 2 * m, Last: 2*k - 1}
			at := func(row int) Strips { return Strips{At: row * strip, Row: strip, Step: strip} }
			for range paths[float32]() {
				from := last(src, 2*k*strip)
				mirror.MulStrips(last(dst, 2*m*strip), at(0), at(m), from, at(0), at(k), 1)
				quarters.MulStrips(last(dst, 4*m*strip), at(0), at(2*m), from, at(0), at(k), 1)
				quarters.Moduli(last(dst, 4*m*strip-strip/2), at(0), at(2*m), from, at(0), at(k), 1)
				halves.MulStrips(last(dst, 2*m*strip), at(0), from, at(0), 1)
			}
		}
	}
}

func TestLargePagesAreAskedFor(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Logf("this system has no large pages: %v", err)
		return
	}
	made := Make[float32](5 * largePage / 8)
	require.True(t, asked(t, &made[0]))
	require.True(t, asked(t, &made[largePage/2-1]))
}

func asked(t *testing.T, address *float32) bool {
	f, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	defer f.Close()
	var from, to uintptr
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			continue
		}
		flags, found := strings.CutPrefix(line, "VmFlags:")
		if place := uintptr(unsafe.Pointer(address)); found && from <= place && place < to {
			return strings.Contains(flags+" ", " hg ")
		}
	}
	require.Fail(t, "no such address")
	return false
}
