//go:build peers

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
)

// timing is what an engine answers: work done (records, thousand million operations, fits), in how many
// seconds on the wall and of the processor.
type timing struct {
	Work      float64 `json:"work"`
	Wall      float64 `json:"wall"`
	Processor float64 `json:"processor"`
}

// watch measures from when it is made.
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

// repeat does a piece of work until the seconds are over, once at least.
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

// serve says that it is ready, then answers every line of standard input, a question in JSON, with a line.
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
