// Steps times steps of training here, and products of matrices, for interleaved.py of the
// folder above. For every line of its input that holds a number of seconds, it trains for at
// least so long and writes a line with the samples per second: in time on the wall, and in
// processor time.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
)

const classes = 10

// build returns the network of a name, such as mlp-784-128-10, and its number of inputs.
func build(name string) (*nn.Model, int, error) {
	rnd := rand.New(rand.NewPCG(1, 5))
	if name == "cnn" {
		m, err := nn.NewTutorialCNN(nn.Image(28, 28, 1), classes, rnd)
		return m, 28 * 28, err
	}
	var widths []int
	for _, field := range strings.Split(name, "-")[1:] {
		w, err := strconv.Atoi(field)
		if err != nil {
			return nil, 0, err
		}
		widths = append(widths, w)
	}
	last := len(widths) - 1
	if last < 1 || widths[last] != classes {
		return nil, 0, fmt.Errorf("no such network: %q", name)
	}
	if last == 1 {
		m, err := nn.NewSoftmax(widths[0], classes)
		return m, widths[0], err
	}
	m, err := nn.NewMLP(widths[0], widths[1:last], classes, rnd)
	return m, widths[0], err
}

// data returns random records.
func data(records, cols int) dpsgd.Data {
	rnd := rand.New(rand.NewPCG(1, 4))
	d := dpsgd.Data{
		X: blas32.General{Rows: records, Cols: cols, Stride: cols, Data: make([]float32, records*cols)},
		Y: make([]int, records),
	}
	for i := range d.X.Data {
		d.X.Data[i] = rnd.Float32()
	}
	for i := range d.Y {
		d.Y[i] = rnd.IntN(classes)
	}
	return d
}

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serve answers the lines of standard input between the steps of one run. Batches have the
// given mean size, half of the records.
func serve(name string, batch int, private bool) error {
	model, cols, err := build(name)
	if err != nil {
		return err
	}
	cfg := dpsgd.Config{SamplingProbability: 0.5, Steps: 1 << 20, LearningRate: 1e-3, NonPrivate: true, ClipNorm: math.Inf(1)}
	var reservation *ledger.Reservation
	if private {
		cfg.NonPrivate, cfg.ClipNorm, cfg.NoiseMultiplier = false, 1, 1
		book, err := ledger.Open("", ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5, Noise: ledger.SeededNoise})
		if err != nil {
			return err
		}
		if reservation, err = book.Reserve(cfg.Event()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := bufio.NewScanner(os.Stdin)
	var from time.Time
	var used time.Duration
	seconds, steps := 0.0, 0
	// ask waits for the next timing. It ends the run where there is none.
	ask := func() error {
		if !in.Scan() {
			cancel()
			return in.Err()
		}
		var err error
		seconds, err = strconv.ParseFloat(in.Text(), 64)
		steps, from, used = 0, time.Now(), processorTime()
		return err
	}
	var failed error
	cfg.Observe = func(m dpsgd.Metrics) {
		if m.Step == 1 { // which holds the hash of the data
			failed = ask()
			return
		}
		steps++
		wall, own := time.Since(from).Seconds(), (processorTime() - used).Seconds()
		if wall < seconds {
			return
		}
		n := float64(steps * batch)
		fmt.Println(n/wall, n/own)
		if failed = ask(); failed != nil {
			cancel()
		}
	}
	_, err = dpsgd.Train(ctx, model, data(2*batch, cols), cfg, reservation, dpsgd.SeedKey(1))
	if ctx.Err() != nil {
		return failed
	}
	return err
}

func main() {
	name := flag.String("model", "mlp-784-128-10", "network")
	batch := flag.Int("batch", 1024, "records in a step, on average")
	private := flag.Bool("private", false, "with clipping and noise")
	threads := flag.Int("threads", 1, "processors")
	product := flag.Bool("products", false, "multiply matrices")
	flag.Parse()
	runtime.GOMAXPROCS(*threads)
	run := products
	if !*product {
		run = func() error { return serve(*name, *batch, *private) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
