// Package parquet reads flat Parquet tables row by row, as texts, and writes small ones.
//
//	file, err := parquet.Open(r, size, "rows.parquet")
//	rows := file.Rows(nil)
//	for cells, err := rows.Next(); err != io.EOF; cells, err = rows.Next() { ... }
//
// A cell is the text that the table has as CSV from pandas: a missing value is empty, truth
// is True or False, a date is 2006-01-02. Floats are the shortest text that reads back to
// them, and whole ones have no point: programs turn a column of integers into floats when
// one row has no value in it, and that row must not rename the others.
//
// # What is read
//
// Columns of strings, integers, floats, truth values and dates, with or without missing
// values and dictionaries, in every encoding of the format but the bit-packed levels that
// it gave up; pages of version 1 and 2, plain or compressed by Snappy, gzip, Zstandard or
// LZ4. Other columns ([Column].Refused says why) are an error when they are read, not before.
//
// Statistics, indexes and metadata of the program that wrote the file are never looked at:
// they tell of rows, and what is read must depend on rows alone. How rows are grouped and
// how pages are cut changes nothing.
//
// # Guarantee
//
// No number of a file is believed before bytes stand behind it. Memory is at most
// [MaxLive], a footer of at most 16 MiB, and some 50 MiB for what the footer lists, whatever
// a file claims; nothing panics, and an error names the file, the row group and the column. Rows are as many as a file says,
// since a page of few bytes may well hold a million equal rows: who collects them sets the
// bound.
package parquet
