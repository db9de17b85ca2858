//go:build peers

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/pate-go/pate/internal/kernel"
)

type timing struct {
	Work      float64 `json:"work"`
	Wall      float64 `json:"wall"`
	Processor float64 `json:"processor"`
}

type watch struct {
	from time.Time
	used time.Duration
}

func start() watch { return watch{time.Now(), processorTime()} }

func (w watch) read(work float64) timing {
	return timing{work, time.Since(w.from).Seconds(), (processorTime() - w.used).Seconds()}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func repeat(seconds float64, once func() (work float64, err error)) (timing, error) {
	w, done := start(), 0.0
	for {
		work, err := once()
		if err != nil {
			return timing{}, err
		}
		done += work
		if t := w.read(done); t.Wall >= seconds {
			return t, nil
		}
	}
}

func say(answer any) error {
	line, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n", line)
	return err
}

func serve[Q, A any](answer func(Q) (A, error)) error {
	if err := say(struct{}{}); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); ; {
		if !in.Scan() {
			return in.Err()
		}
		var question Q
		if err := json.Unmarshal(in.Bytes(), &question); err != nil {
			return err
		}
		a, err := answer(question)
		if err != nil {
			return err
		}
		if err := say(a); err != nil {
			return err
		}
	}
}

func settle() float64 {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0
	}
	return resident("VmRSS:")
}

func resident(field string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), field)
	var kibibytes float64
	if _, err := fmt.Sscan(rest, &kibibytes); err != nil {
		return 0
	}
	return kibibytes * 1024 / 1e6
}

type product struct {
	Kind    string
	M, N, K int
	Seconds float64
}

func products() error {
	return serve(func(p product) (timing, error) {
		rnd := rand.New(rand.NewPCG(1, 6))
		random := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rnd.NormFloat64())
			}
			return x
		}
		dst, a, b := make([]float32, p.M*p.N), random(p.M*p.K), random(p.N*p.K)
		var run func()
		switch p.Kind {
		case "forward":
			var weights kernel.Packed[float32]
			weights.PackBT(b, p.K, p.N, p.K)
			run = func() { weights.Mul(dst, p.N, a, p.K, p.M) }
		case "gradient":
			run = func() { kernel.AddATB(dst, p.N, a, p.M, b, p.N, p.M, p.N, p.K) }
		default:
			return timing{}, fmt.Errorf("no such product: %q", p.Kind)
		}
		run()
		return repeat(p.Seconds, func() (float64, error) {
			run()
			return 2 * float64(p.M) * float64(p.N) * float64(p.K) / 1e9, nil
		})
	})
}
