package main

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/dataset"
)

// loadTask opens and splits the data a user named.
func loadTask(f compareFlags) (dataset.Task, error) {
	opt, err := f.csv()
	if err != nil {
		return dataset.Task{}, err
	}
	switch p := dataset.Protocol(f.split); p {
	case dataset.Literature, dataset.Development:
	default:
		return dataset.Task{}, usageError("data", fmt.Errorf("--split %q: must be %s or %s", f.split, dataset.Literature, dataset.Development))
	}
	data, err := dataset.Open(f.data, opt)
	if err != nil {
		return dataset.Task{}, dataError(err)
	}
	task, err := data.Task(dataset.Protocol(f.split))
	if err != nil {
		return dataset.Task{}, dataError(err)
	}
	if f.quick {
		if task.Private, err = task.Private.Sample(0.1); err != nil {
			return dataset.Task{}, dataError(err)
		}
	}
	return task, nil
}

// csv is how a table is to be read.
func (f compareFlags) csv() (dataset.CSVOptions, error) {
	opt := dataset.CSVOptions{Label: f.label, Unit: f.unit}
	switch f.header {
	case "auto":
	case "yes", "no":
		opt.Header = dataset.Header(f.header)
	default:
		return opt, usageError("data", fmt.Errorf("--header %q: must be auto, yes or no", f.header))
	}
	return opt, nil
}

// dataError turns what is wrong with data into the lines a person reads.
func dataError(err error) error {
	var in *dataset.InputError
	if !errors.As(err, &in) {
		return err
	}
	what := in.File + ": "
	if in.Row > 0 {
		what += fmt.Sprintf("row %d ", in.Row)
	}
	what += in.What
	why := in.Why
	if in.Err != nil && why == "" {
		why = in.Err.Error()
	}
	return inputError(fmt.Errorf("%s", what), why, in.Fix, "data")
}
