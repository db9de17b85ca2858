// Package parquet reads flat Parquet tables row by row as text, and writes small tables.
//
//	file, err := parquet.Open(r, size, "rows.parquet")
//	rows, err := file.Rows(nil)
//	for cells, err := rows.Next(); err != io.EOF; cells, err = rows.Next() { ... }
//
// A cell is the text that pandas writes to CSV for the same table, except for whole floats. A missing value
// is empty, a boolean is True or False, a date is 2006-01-02. A float is the shortest text that parses to the
// same value. A whole float has no decimal point. If a value is missing, pandas stores a column of integers
// as floats, such as 3.0. This package then writes 3.
//
// # Types and encodings
//
// Columns hold strings, integers, floats, booleans or dates. Missing values, dictionaries and all encodings
// are supported, except the obsolete BIT_PACKED. Pages have version 1 or 2, without compression or with
// Snappy, gzip, Zstandard or LZ4. Reading a column with another type, encoding or compression is an error.
// [Column].Refused describes the content of a column with another type.
//
// The cells of a row depend only on the row. So statistics, indexes and metadata, which depend on several
// rows, are skipped.
//
// # Guarantee
//
// Sizes in a file are not trusted. Memory is at most 512 MiB for pages, 16 MiB for the footer, and about 70
// MiB for the entries of the footer. No input causes a panic. Errors contain file, row group and column. The
// number of rows is not bounded, because a small page may hold a million equal rows. Callers must limit the
// number of rows that they store.
//
// # Why this package reads pages
//
// The Thrift package of parquet-go reads and writes the format's structures, and thrift.go limits the sizes.
// The page readers of parquet-go have no size limit. But a file of a few bytes can contain a page or a
// repeated value of huge unpacked size.
package parquet
