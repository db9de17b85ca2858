// Package parquet reads flat Parquet tables row by row, as texts, and writes small ones.
//
//	file, err := parquet.Open(r, size, "rows.parquet")
//	rows, err := file.Rows(nil)
//	for cells, err := rows.Next(); err != io.EOF; cells, err = rows.Next() { ... }
//
// A cell is the text that pandas writes in CSV for the same table: a missing value is empty, a truth value is
// True or False, a date is 2006-01-02. Floats are the shortest text that reads back as the same value, and
// whole floats have no decimal point: programs turn a column of integers into floats if one row has no value,
// and that row must not rename other rows.
//
// # Types and encodings
//
// Columns of strings, integers, floats, truth values and dates, with or without missing values and
// dictionaries, in every encoding of the format but the obsolete bit-packed levels; pages of version 1 and 2,
// plain or compressed by Snappy, gzip, Zstandard or LZ4. Reading other columns is an error ([Column].Refused
// describes their content).
//
// Statistics, indexes and metadata of the program that wrote the file are skipped: they depend on rows, and
// the cells of a row must depend on nothing else. The division into row groups and pages has no effect.
//
// # Guarantee
//
// No size in a file is trusted before its bytes have been read. Memory is at most 512 MiB of pages, a footer
// of at most 16 MiB, and about 70 MiB for the entries of the footer, whatever the sizes in a file. Nothing
// panics, and an error contains the file, the row group and the column. The number of rows is not bounded,
// since a page of few bytes may hold a million equal rows: callers limit the number of rows that they keep.
//
// # Why pages are read here
//
// Structures of the format are read and written by parquet-go's Thrift package, behind the checks in
// thrift.go. Its readers of pages are not used: they neither limit the unpacked size of a page nor the number
// of repetitions of a value, which three bytes can set. Its package for whole files makes a program 6 MB
// larger.
package parquet
