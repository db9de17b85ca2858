package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
)

func TestOpenFindsNamesFoldersAndFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "digits")
	writeFolder(t, folder, nil)
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	assert.Equal(t, "digits", d.Name)
	assert.Nil(t, d.Table)

	d, err = Open(filepath.Join("testdata", "visits.csv"), Options{CSV: CSVOptions{Label: "outcome", Unit: "patient"}})
	require.NoError(t, err)
	assert.Equal(t, 5, d.Table.Len())

	var input *fault.Error
	_, err = Open(filepath.Join(t.TempDir(), "none"), Options{})
	assert.ErrorAs(t, err, &input)
}

// One file is cut in two after it was read, so that any row of it may be a private one.
func TestErrorsAboutARowOfOneFileAreForItsOwner(t *testing.T) {
	const head, rows = "age,kind,who\n", "3,a,x\n4,b,y\n"
	opt := Options{CSV: CSVOptions{Label: "kind", Unit: "who"}}
	for name, row := range map[string]string{"label": "5,,z\n", "unit": "5,a,\n", "cells": "5,a\n", "quotes": "5,\"a\"b,z\n"} {
		path := filepath.Join(t.TempDir(), name+".csv")
		require.NoError(t, os.WriteFile(path, []byte(head+rows+row), 0o600))
		_, err := Open(path, opt)
		var input *fault.Error
		require.ErrorAs(t, err, &input, name)
		require.Equal(t, 4, input.Row, name)
		require.Contains(t, input.Why, ownerNotice, name)

		unlabelled := opt // rows that are asked about train nothing
		unlabelled.CSV.Label, unlabelled.CSV.Unlabelled = "", true
		if _, err = Open(path, unlabelled); err != nil {
			require.NotContains(t, err.Error(), ownerNotice, name)
		}
	}
}

// What scores by another split than the default one is private by that, unless all of it is
// published.
func TestOtherSplitsOfOwnDataAreWithheld(t *testing.T) {
	images := imageData(120, 30)
	known := images
	known.Published = true
	table := filepath.Join(t.TempDir(), "t.csv")
	text := "x,y\n"
	for i := range 200 {
		text += fmt.Sprintf("%d,%c\n", i, 'a'+i%2)
	}
	require.NoError(t, os.WriteFile(table, []byte(text), 0o600))
	rows, err := Open(table, Options{CSV: CSVOptions{Label: "y"}})
	require.NoError(t, err)
	for _, c := range []struct {
		data     Data
		split    Protocol
		withheld bool
	}{
		{known, Literature, false}, {known, Development, false}, {known, FullTest, false},
		{images, Literature, false}, {images, Development, true}, {images, FullTest, true},
		{rows, Literature, false}, {rows, Development, true},
	} {
		task, err := c.data.Task(c.split)
		require.NoError(t, err)
		require.Equal(t, c.withheld, task.Withheld() != "", "%s: %s", c.data.Name, c.split)
	}
	require.Empty(t, Task{}.Withheld(), "private rows beside public ones")
}
