package dataset

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pate-go/pate/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenFindsNamesFoldersAndFiles(t *testing.T) {
	d, err := openMNIST()
	require.NoError(t, err)
	assert.Equal(t, 60000, d.Train.Len())

	folder := filepath.Join(t.TempDir(), "digits")
	writeFolder(t, folder, nil)
	d, err = Open(folder, Options{})
	require.NoError(t, err)
	assert.Equal(t, "digits", d.Name)
	assert.Nil(t, d.Table)

	d, err = Open(filepath.Join("testdata", "visits.csv"), Options{CSV: CSVOptions{Label: "outcome", Unit: "patient"}})
	require.NoError(t, err)
	assert.Equal(t, 5, d.Table.Len())

	var input *fault.Error
	_, err = Open("mnist", Options{CSV: CSVOptions{Label: "1"}})
	assert.ErrorAs(t, err, &input)
	_, err = Open(filepath.Join(t.TempDir(), "none"), Options{})
	assert.ErrorAs(t, err, &input)
	assert.ErrorContains(t, err, "mnist, fashion-mnist, adult, abalone")
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

func TestNamedSaysHowToGetWhatIsMissing(t *testing.T) {
	for _, root := range []string{"", t.TempDir()} {
		t.Setenv("PATE_DATA", root)
		for _, name := range []string{"adult", "abalone"} {
			_, err := Named(name)
			assert.ErrorIs(t, err, fs.ErrNotExist)
			assert.ErrorContains(t, err, "$PATE_DATA/"+name)
		}
		if _, err := os.Stat(debianFashion); err != nil {
			_, err = Named("fashion-mnist")
			assert.ErrorContains(t, err, "dataset-fashion-mnist")
		}
	}
	_, err := Named("glyph")
	assert.ErrorContains(t, err, "known are mnist")
}

func TestNamedReadsLocalFiles(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATE_DATA", root)
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("adult/adult.data", "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K\n"+
		"52, ?, 287927, HS-grad, 9, Married-civ-spouse, Exec-managerial, Wife, White, Female, 15024, 0, 40, ?, >50K\n\n")
	d, err := Named("adult")
	require.NoError(t, err)
	assert.Equal(t, []string{"<=50K", ">50K"}, d.Table.Labels)
	assert.Equal(t, []int{0, 1}, d.Table.Y)
	require.Len(t, d.Table.Columns, 13)
	for _, c := range d.Table.Columns {
		assert.NotEqual(t, "fnlwgt", c.Name)
	}

	write("abalone/abalone.data.gz", string(gzipped(t, []byte("M,0.4,0.3,0.1,0.5,0.2,0.1,0.1,15\nF,0.4,0.3,0.1,0.5,0.2,0.1,0.1,8\nI,0.4,0.3,0.1,0.5,0.2,0.1,0.1,9\nI,0.4,0.3,0.1,0.5,0.2,0.1,0.1,10\n"))))
	d, err = Named("abalone")
	require.NoError(t, err)
	assert.Equal(t, []int{2, 0, 1, 1}, d.Table.Y)
	assert.Len(t, d.Table.Columns, 8)

	writeFolder(t, filepath.Join(root, "fashion-mnist"), nil)
	d, err = Named("fashion-mnist")
	require.NoError(t, err)
	assert.Equal(t, "T-shirt/top", d.Train.Classes[0])
	assert.Equal(t, 2, d.Train.Len(), "PATE_DATA comes before the system's folder")
}

// What scores by another split than the default one is private by that, unless all of it is
// published.
func TestOtherSplitsOfOwnDataAreWithheld(t *testing.T) {
	known, err := openMNIST()
	require.NoError(t, err)
	images := Data{Name: "digits", Train: known.Train, Test: known.Test} // as a folder gives them
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
