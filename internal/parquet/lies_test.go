package parquet_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/parquet"
	"github.com/pate-go/pate/internal/testkit"
)

func written(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, parquet.Write(&out, []parquet.Values{
		{Name: "query", Ints: []int64{0, 1, 2, -3}},
		{Name: "label", Texts: []string{"cat", "", "dog", "a,b"}, Missing: []bool{false, true, false, false}},
	}))
	return out.Bytes()
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	header, rows := testkit.Must2(all(written(t), "x"))
	require.Equal(t, []string{"query", "label"}, header)
	require.Equal(t, [][]string{{"0", "cat"}, {"1", ""}, {"2", "dog"}, {"-3", "a,b"}}, rows)
	require.Equal(t, written(t), written(t))

	long := make([]int64, 200_000) // several row groups
	for i := range long {
		long[i] = int64(i)
	}
	var out bytes.Buffer
	require.NoError(t, parquet.Write(&out, []parquet.Values{{Name: "n", Ints: long}}))
	_, rows = testkit.Must2(all(out.Bytes(), "x"))
	require.Len(t, rows, len(long))
	for i, row := range rows {
		require.Equal(t, fmt.Sprint(i), row[0])
	}
	require.Error(t, parquet.Write(&out, nil))
	require.Error(t, parquet.Write(&out, []parquet.Values{{Name: "a", Ints: long}, {Name: "b", Ints: long[1:]}}))
}

// TestRefusedColumns: what is not read is refused by the name of its column and with the line that mends
// it, and only if it is asked for.
func TestRefusedColumns(t *testing.T) {
	raw := testkit.Must(os.ReadFile("testdata/odd.parquet"))
	f := testkit.Must(parquet.Open(bytes.NewReader(raw), int64(len(raw)), "odd.parquet"))
	want := map[string][2]string{
		"timestamps": {"timestamps", "astype(str)"}, "times": {"times of day", "astype(str)"}, "decimals": {"decimals", "float64"},
		"lists": {"lists or structures", "columns of its parts"}, "structures": {"lists or structures", "columns of its parts"},
		"bytes": {"bytes that are not declared as text", "decode('utf-8')"}, "half": {"floats of 16 bits", "float64"},
	}
	for i, c := range f.Columns() {
		r, err := f.Rows([]int{i})
		if c.Name == "fine" {
			require.NoError(t, err)
			require.Equal(t, []string{"1"}, testkit.Must(r.Next()))
			continue
		}
		require.ErrorContains(t, err, `column "`+c.Name+`"`)
		require.ErrorContains(t, err, want[c.Name][0])
		require.ErrorContains(t, err, want[c.Name][1])
		delete(want, c.Name)
	}
	require.Empty(t, want)
	_, _, err := all(testkit.Must(os.ReadFile("testdata/brotli.parquet")), "b.parquet")
	require.ErrorContains(t, err, `b.parquet: row group 0 column "a" is compressed by Brotli`)
	require.ErrorContains(t, testkit.Err2(all([]byte("PAR1 and no end"), "c.parquet")), "cut off")
	require.ErrorContains(t, testkit.Err2(all([]byte("PAR1"), "c.parquet")), "too short")
}

func TestDamage(t *testing.T) {
	for _, name := range []string{"wide-delta", "wide-lz4", "wide-zstd"} {
		raw := testkit.Must(os.ReadFile("testdata/" + name + ".parquet"))
		for at := 0; at < len(raw); at += 29 {
			for _, flip := range []byte{0x01, 0x80} {
				raw[at] ^= flip
				if _, _, err := all(raw, "name"); err != nil {
					require.ErrorContains(t, err, "name: ")
				}
				raw[at] ^= flip
			}
		}
		for n := 0; n < len(raw); n += 397 {
			require.ErrorContains(t, testkit.Err2(all(raw[:n], "name")), "name: ")
		}
	}
}

func TestLies(t *testing.T) {
	good := written(t)
	footer := len(good) - 8 - int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	// The head of the first page: its sizes, 32 bytes, stand as the varint 64 (zigzag).
	for name, c := range map[string]struct {
		old, lie string
		from     int
		want     string
	}{
		"a page of 2 GiB":         {"\x15\x40\x15\x40", "\x15\xfe\xff\xff\xff\x0f\x15\x40", 0, `row group 0 column "query"`},
		"packed in 2 GiB":         {"\x15\x40\x15\x40", "\x15\x40\x15\xfe\xff\xff\xff\x0f", 0, `row group 0 column "query"`},
		"a page of -1 byte":       {"\x15\x40\x15\x40", "\x15\x01\x15\x40", 0, `row group 0 column "query"`},
		"2^31 values in the page": {"\x2c\x15\x08", "\x2c\x15\xfe\xff\xff\xff\x0f", 0, `row group 0 column "query"`},
		"2^40 rows":               {"\x16\x08\x19\x1c", "\x16\x80\x80\x80\x80\x80\x80\x01\x19\x1c", footer, "claims"},
	} {
		t.Run(name, func(t *testing.T) {
			at := bytes.Index(good[c.from:], []byte(c.old))
			require.GreaterOrEqual(t, at, 0)
			at += c.from
			bad := strings.Replace(string(good[at:]), c.old, c.lie, 1)
			raw := append(bytes.Clone(good[:at]), bad...)
			if c.from == footer {
				size := len(raw) - 8 - footer
				binary.LittleEndian.PutUint32(raw[len(raw)-8:], uint32(size))
			} else { // what follows must stay where the footer says
				raw = append(bytes.Clone(good[:at]), c.lie...)
				raw = append(raw, good[len(raw):]...)
			}
			var err error
			used := testkit.Allocated(func() { _, _, err = all(raw, "lies.parquet") })
			require.ErrorContains(t, err, "lies.parquet: ")
			require.ErrorContains(t, err, c.want)
			require.Less(t, used, uint64(1<<20))
		})
	}
}

// TestFootersThatListMillions: what a footer lists takes a byte of the file each, and more memory. Each
// kind is refused before there is room for more than its bound.
func TestFootersThatListMillions(t *testing.T) {
	const n = 15 << 20
	zeros := make([]byte, n)
	list := func(count uint64, element string) string { // of structures that begin with this element
		return "\xfc" + string(binary.AppendUvarint(nil, count)) + element
	}
	// The schema is a root with one child, or with as many as the case has.
	schema := "\x19\x2c" + "\x55\x02\x00" + "\x55\x00\x00"
	for name, c := range map[string]struct{ footer, want string }{
		"elements of the schema":       {"\x15\x02\x19" + list(n, string(zeros)), "more than 65536 columns"},
		"columns of a row group":       {"\x15\x02" + schema + "\x16\x00\x19" + "\x1c\x19" + list(n, string(zeros)), "more than 524288 row groups"},
		"row groups without columns":   {"\x15\x02" + schema + "\x16\x00\x19" + list(n/3, strings.Repeat("\x36\x00\x00", n/3)), "more than 524288 row groups"},
		"row groups before the schema": {"\x15\x02\x39" + list(n/3, strings.Repeat("\x36\x00\x00", n/3)), "more than 524288 row groups"},
		"structures in structures":     {"\x15\x02" + strings.Repeat("\x1c", n), "damaged footer"},
		"lists in lists":               {"\x15\x02\x19" + strings.Repeat("\x19", n), "damaged footer"},
		"a second schema":              {"\x15\x02" + schema + "\x09\x04" + list(n, string(zeros)), "more than 65536 columns"},
	} {
		t.Run(name, func(t *testing.T) {
			raw := append([]byte("PAR1"), c.footer...)
			raw = append(raw, 0)
			raw = binary.LittleEndian.AppendUint32(raw, uint32(len(raw)-4))
			raw = append(raw, "PAR1"...)
			var err error
			used := testkit.Allocated(func() { _, err = parquet.Open(bytes.NewReader(raw), int64(len(raw)), "bomb.parquet") })
			require.ErrorContains(t, err, "bomb.parquet: ")
			require.ErrorContains(t, err, c.want)
			require.Less(t, used, uint64(10*len(raw)))
		})
	}
}

func FuzzParquet(f *testing.F) {
	for _, name := range []string{"wide-default", "wide-delta", "wide-gzip", "wide-lz4", "wide-zstd", "odd", "brotli"} {
		f.Add(testkit.Must(os.ReadFile("testdata/" + name + ".parquet")))
	}
	f.Add(written(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := parquet.Open(bytes.NewReader(raw), int64(len(raw)), "f")
		if err != nil {
			return
		}
		for i, c := range file.Columns() {
			r, err := file.Rows([]int{i})
			if err != nil {
				require.NotEmpty(t, c.Convert())
				continue
			}
			for range 1000 {
				if cells, err := r.Next(); err != nil || len(cells) != 1 {
					require.Error(t, err)
					break
				}
			}
		}
	})
}

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
			header, rows := testkit.Must2(all(testkit.Must(os.ReadFile(path)), path))
			require.Equal(t, want[0], header)
			for i, row := range rows {
				require.Equal(t, want[i+1], row, "row %d", i)
			}
			require.Len(t, rows, len(want)-1)
		})
	}
}
