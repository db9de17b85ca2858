//go:build peers

// Ours runs this module in the comparisons with other toolkits (see ../README.md). The first argument selects
// the comparison.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
)

func main() {
	threads := flag.Int("threads", 1, "processors")
	net := flag.String("net", "784-128-10", "train: network")
	batch := flag.Int("batch", 1024, "train: records in a step, on average")
	private := flag.Bool("private", false, "train: with clipping and noise")
	extractor := flag.String("features", "hog", "teachers: pixels or hog")
	shares := flag.Int("shares", 250, "teachers: how many")
	folder := flag.String("folder", "", "teachers: where the rows are written for others; forests: where they are read")
	flag.Parse()
	runtime.GOMAXPROCS(*threads)
	run, ok := map[string]func() error{
		"settings": printSettings,
		"train":    func() error { return train(*net, *batch, *private) },
		"products": products,
		"account":  account,
		"teachers": func() error { return teach(*extractor, *shares, *folder) },
		"forests":  func() error { return forests(*folder) },
	}[flag.Arg(0)]
	if !ok {
		run = func() error { return fmt.Errorf("what for? settings, train, products, account, teachers or forests") }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
