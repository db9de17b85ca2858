//go:build peers

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

const classes = 10

func build(name string) (*nn.Model, int, error) {
	rnd := rand.New(rand.NewPCG(1, 5))
	if name == "cnn" {
		m, err := nn.NewTutorialCNN(nn.Image(28, 28, 1), classes, rnd)
		return m, 28 * 28, err
	}
	var widths []int
	for _, field := range strings.Split(name, "-") {
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

func data(records, cols int) dpsgd.Data {
	rnd := rand.New(rand.NewPCG(1, 4))
	d := dpsgd.Data{X: dense.New(records, cols), Y: make([]int, records)}
	for i := range d.X.Data {
		d.X.Data[i] = rnd.Float32()
	}
	for i := range d.Y {
		d.Y[i] = rnd.IntN(classes)
	}
	return d
}

type trained struct {
	timing
	PeakMB float64 `json:"peak_mb"`
}

func train(net string, batch int, private bool) error {
	model, cols, err := build(net)
	if err != nil {
		return err
	}
	cfg := dpsgd.Config{SamplingProbability: 0.5, Steps: 1 << 20, LearningRate: 1e-3, NonPrivate: true, ClipNorm: math.Inf(1)}
	var reservation *ledger.Reservation
	if private {
		cfg.NonPrivate, cfg.ClipNorm, cfg.NoiseMultiplier = false, 1, 1
		book, err := ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5, Noise: ledger.SeededNoise})
		if err != nil {
			return err
		}
		if reservation, err = book.Reserve(cfg.Event()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ready, asked, answers, ended := make(chan struct{}), make(chan float64), make(chan timing), make(chan error, 1)
	var w watch
	var seconds float64
	steps := 0
	cfg.Observe = func(m dpsgd.Metrics) {
		if steps++; m.Step == 1 { // the first step includes the hash of the data
			close(ready)
		} else if t := w.read(float64(steps * batch)); t.Wall >= seconds {
			answers <- t
		} else {
			return
		}
		select {
		case seconds = <-asked:
		case <-ctx.Done():
		}
		steps, w = 0, start()
	}
	rows := data(2*batch, cols)
	before := settle()
	go func() {
		_, err := dpsgd.Train(ctx, model, rows, cfg, reservation, rng.SeedKey(1))
		ended <- err
	}()
	select {
	case <-ready:
	case err := <-ended:
		return err
	}
	return serve(func(q struct{ Seconds float64 }) (trained, error) {
		asked <- q.Seconds
		select {
		case t := <-answers:
			return trained{t, resident("VmHWM:") - before}, nil
		case err := <-ended:
			return trained{}, err
		}
	})
}
