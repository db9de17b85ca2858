// Package parquet reads flat Parquet tables row by row, as texts, and writes small ones.
//
//	file, err := parquet.Open(r, size, "rows.parquet")
//	rows, err := file.Rows(nil)
//	for cells, err := rows.Next(); err != io.EOF; cells, err = rows.Next() { ... }
//
// A cell is the text that the table has as CSV from pandas: a missing value is empty, a truth value is True
// or False, a date is 2006-01-02. Floats are the shortest text that reads back to them, and whole ones have
// no point: programs turn a column of integers into floats when one row has no value in it, and that row
// must not rename the others.
//
// # Types and encodings
//
// Columns of strings, integers, floats, truth values and dates, with or without missing values and
// dictionaries, in every encoding of the format but the obsolete bit-packed levels; pages of version 1 and
// 2, plain or compressed by Snappy, gzip, Zstandard or LZ4. Other columns ([Column].Refused names what they
// hold) are an error when they are read.
//
// Statistics, indexes and metadata of the program that wrote the file are skipped: they depend on rows, and
// the cells of a row must depend on nothing else. How rows are grouped and how pages are cut changes nothing.
//
// # Guarantee
//
// No number of a file is used before bytes stand behind it. Memory is at most 512 MiB of pages, a footer of
// at most 16 MiB, and some 70 MiB for what the footer lists, whatever a file claims; nothing panics, and an
// error names the file, the row group and the column. The number of rows is not bounded, since a page of
// few bytes may hold a million equal rows: callers limit the rows that they keep.
//
// # Why pages are read here
//
// Structures of the format are read and written by parquet-go's Thrift package, behind the checks in
// thrift.go. Its readers of pages are not used: they unpack a page to whatever size comes out, and repeat a
// value as often as three bytes claim; and its package for whole files makes a program 6 MB larger.
package parquet
