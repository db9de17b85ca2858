package kernel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func threadTime() float64 {
	var ts syscall.Timespec
	syscall.Syscall(228, 3, uintptr(unsafe.Pointer(&ts)), 0) // CLOCK_THREAD_CPUTIME_ID
	return float64(ts.Sec) + float64(ts.Nsec)*1e-9
}

var variants func(kind string, m, n, k, pad, padc int, dst, x []float32, packed *Packed[float32]) ([]string, []func())

// SHAPES: kind:m:n:k[:lda:ldd] ...
func TestTurns(t *testing.T) {
	spec := os.Getenv("SHAPES")
	if spec == "" {
		t.Skip()
	}
	runtime.LockOSThread()
	turns := 15
	if v := os.Getenv("TURNS"); v != "" {
		turns, _ = strconv.Atoi(v)
	}
	rnd := rand.New(rand.NewPCG(9, 1))
	type cell struct {
		name string
		f    func()
		flop float64
		reps int
		best []float64
	}
	var cells []*cell
	for _, s := range strings.Fields(spec) {
		p := strings.Split(s, ":")
		d := make([]int, 8)
		for i := range p[1:] {
			d[i], _ = strconv.Atoi(p[i+1])
		}
		kind, m, n, k, pad, padc := p[0], d[0], d[1], d[2], d[3], d[4]
		var ons []path
		for _, on := range paths[float32]() {
			if on > portable {
				ons = append(ons, on)
			}
		}
		for _, on := range ons {
			dst, x, y := aligned[float32](m*(n+padc)), aligned[float32]((m+pad)*(k+pad)), aligned[float32]((n+pad)*(k+pad))
			copy(x, normal[float32](rnd, len(x)))
			copy(y, normal[float32](rnd, len(y)))
			var f func()
			switch kind {
			case "BT":
				f = func() { mulBT(on, dst, n+padc, x, k+pad, y, k+pad, m, n, k) }
			case "AB":
				f = func() { mulAB(on, dst, n+padc, x, k+pad, y, n+pad, m, n, k) }
			case "ATB":
				f = func() { addATB(on, dst, n+padc, x, m+pad, y, n+pad, m, n, k) }
			case "P":
				var packed Packed[float32]
				packed.packBT(on, y, k, n, k)
				f = func() { packed.Mul(dst, n+padc, x, k+pad, m) }
			}
			c := &cell{name: s + "/" + on.String(), f: f, flop: 2 * float64(m) * float64(n) * float64(k)}
			c.reps = int(8e7/c.flop) + 1
			cells = append(cells, c)
			if on == avx512 && variants != nil && os.Getenv("VARIANTS") != "" {
				var packed Packed[float32]
				packed.packBT(on, y, k, n, k)
				names, fs := variants(kind, m, n, k, pad, padc, dst, x, &packed)
				for i := range names {
					cells = append(cells, &cell{name: s + "/" + names[i], f: fs[i], flop: c.flop, reps: c.reps})
				}
			}
		}
	}
	for r := 0; r < turns+1; r++ {
		for _, c := range cells {
			c.f()
			from := threadTime()
			for i := 0; i < c.reps; i++ {
				c.f()
			}
			if r > 0 {
				c.best = append(c.best, c.flop*float64(c.reps)/(threadTime()-from)/1e9)
			}
		}
	}
	for _, c := range cells {
		fmt.Print("RAW ", c.name)
		for _, v := range c.best {
			fmt.Printf(" %.2f", v)
		}
		fmt.Println()
	}
}
