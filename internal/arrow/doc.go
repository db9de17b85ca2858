// Package arrow reads flat tables in Arrow IPC files and streams row by row, as texts; the
// second version of Feather is such a file.
//
//	table, err := arrow.Open(r, size, "rows.arrow")
//	for cells, err := table.Next(); err != io.EOF; cells, err = table.Next() { ... }
//
// A cell is the text that package parquet makes of the same value: a missing value is empty,
// truth is True or False, floats are the shortest text that reads back to them.
//
// # What is read
//
// Columns of integers, floats, truth values and strings, strings in dictionaries too, with or
// without missing values; record batches as they are or compressed by LZ4 or Zstandard.
// Other columns are an error that says how pandas or pyarrow makes them one of these.
// Dictionaries that grow from batch to batch are not read, nor is what was written before
// 2019 (Arrow 0.15), nor big-endian.
//
// Format: Columnar.rst, Message.fbs and Schema.fbs of Apache Arrow; metadata are FlatBuffers.
//
// # Guarantee
//
// No number of a file is believed before bytes stand behind it. Memory is at most [MaxLive]
// and the metadata of one message, at most 16 MiB, whatever a file claims; nothing panics,
// and an error names the file, the batch and the column. A file or stream that does not end
// with the mark of its end was cut off, and is refused.
package arrow
