package parquet_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/parquet"
	"github.com/pate-go/pate/internal/testkit"
)

// all reads every row of a file.
func all(raw []byte, name string) (header []string, rows [][]string, err error) {
	f, err := parquet.Open(bytes.NewReader(raw), int64(len(raw)), name)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range f.Columns() {
		header = append(header, c.Name)
	}
	r, err := f.Rows(nil)
	if err != nil {
		return header, nil, err
	}
	for {
		cells, err := r.Next()
		if errors.Is(err, io.EOF) {
			return header, rows, nil
		}
		if err != nil {
			return header, rows, err
		}
		rows = append(rows, append([]string(nil), cells...))
	}
}

// TestFilesOfPyarrow: every type in every encoding, compression and version of page that pyarrow writes
// reads as the same texts, which Python wrote beside them.
func TestFilesOfPyarrow(t *testing.T) {
	want := testkit.Must(csv.NewReader(bytes.NewReader(testkit.Must(os.ReadFile("testdata/wide.csv")))).ReadAll())
	require.Len(t, want, 68)
	files := testkit.Must(filepath.Glob("testdata/wide-*.parquet"))
	require.Len(t, files, 7)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			header, rows, err := all(testkit.Must(os.ReadFile(path)), path)
			require.NoError(t, err)
			require.Equal(t, want[0], header)
			for i, row := range rows {
				require.Equal(t, want[i+1], row, "row %d", i)
			}
			require.Len(t, rows, len(want)-1)
		})
	}
}
