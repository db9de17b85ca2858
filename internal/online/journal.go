package online

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

// A journal holds the answered questions of a run, in order. The file begins with journalMagic. Each write
// appends one frame. A frame is the length of its records, a checksum of the length, a message authentication
// code (MAC), and the records. The checksum and the MAC also cover the MAC of the previous frame. A record is
// a multiple of 8 bytes:
//
//	0    length of the query
//	1    source of the answer
//	2    zero
//	4    token, or -1
//	8    length of further data of the mechanism
//	12   start of the keyed hash of the inputs
//	24   query, further data, zeros
const (
	journalMagic = "pate journal 1\n\n"
	frameHeader  = 4 + 4 + 16 // length, checksum, code
	recordHeader = 24
	alignment    = 8
	fullFrame    = 1 << 21 // length from which a frame takes no more records
	longestFrame = fullFrame + recordHeader + mostQuery + mostMore
	mostQuery    = 128     // bytes of a query
	mostMore     = 1 << 20 // bytes of further data of a record
)

// sources lists the sources of answers. A record stores an index into sources, so the order must not change.
var sources = []tokens.Source{tokens.Vote, tokens.Public, tokens.Declined}

type journal struct {
	file  *os.File
	codes hash.Hash
	code  [16]byte // of the last frame
	end   int64
	index *index
	buf   []byte
	mark  mark
}

type record struct {
	query  []byte
	inputs [12]byte // start of the keyed hash of the inputs
	answer tokens.Answer
	more   []byte // further data, with which a mechanism resumes
}

func (j *journal) close() error { return errors.Join(j.file.Close(), j.mark.close()) }

func makeJournal(path string) error { return durable.WriteBytes(path, 0o600, []byte(journalMagic)) }

// openJournal calls the function `each` for each record. It removes an incomplete last frame. No answer of
// such a frame was released, because a frame is written to disk before its answers are released.
func openJournal(path string, key rng.Key, each func(record) error) (j *journal, err error) {
	secret, err := key.Derive("journal").MarshalText()
	if err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	j = &journal{codes: hmac.New(sha256.New, secret), index: newIndex()}
	if j.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	err = j.read(func(place int64, r record) error {
		j.index.add(string(r.query), uint32(place/alignment))
		return each(r)
	})
	if err == nil {
		err = j.file.Truncate(j.end)
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.file.Close()
		return nil, err
	}
	return j, nil
}

func errJournal(path string) error {
	return &fault.Error{What: path + " was changed after it was written",
		Why: "the answers of the run, which count against its caps, are uncertain", Fix: "restore the file", Check: true}
}

func (j *journal) read(each func(place int64, r record) error) error {
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("online: %w", err)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, info.Size()), 1<<20)
	frame := make([]byte, len(journalMagic), 1<<16)
	if _, err := io.ReadFull(in, frame); err != nil || string(frame) != journalMagic {
		return errJournal(j.file.Name())
	}
	j.code = [16]byte{}
	for j.end = int64(len(journalMagic)); j.end < info.Size(); j.end += int64(len(frame)) {
		left := info.Size() - j.end
		frame = append(frame[:0], make([]byte, min(left, frameHeader))...)
		if _, err := io.ReadFull(in, frame); err != nil {
			return fmt.Errorf("online: %w", err)
		}
		if left < frameHeader {
			return nil
		}
		length := int64(binary.LittleEndian.Uint32(frame))
		switch {
		case left <= frameHeader+longestFrame && len(bytes.Trim(frame, "\x00")) == 0:
			return nil // the size of the file was written, but not the frame
		case length > longestFrame || j.checksum(frame) != binary.LittleEndian.Uint32(frame[4:]):
			return errJournal(j.file.Name())
		case frameHeader+length > left:
			return nil
		}
		frame = append(frame, make([]byte, length)...)
		if _, err := io.ReadFull(in, frame[frameHeader:]); err != nil {
			return fmt.Errorf("online: %w", err)
		}
		code := j.codeOf(frame)
		if !hmac.Equal(code[:], frame[8:frameHeader]) {
			if frameHeader+length < left {
				return errJournal(j.file.Name()) // a later frame shows that this frame was complete
			}
			return nil
		}
		j.code = code
		for at := int64(frameHeader); at < int64(len(frame)); {
			r, size := parseRecord(frame[at:])
			if size == 0 {
				return errJournal(j.file.Name())
			}
			if err := each(j.end+at, r); err != nil {
				return err
			}
			at += size
		}
	}
	return nil
}

func (j *journal) checksum(frame []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(j.code[:]), crc32.IEEETable, frame[:4])
}

func (j *journal) codeOf(frame []byte) (code [16]byte) {
	j.codes.Reset()
	j.codes.Write(j.code[:])
	j.codes.Write(frame[:8])
	j.codes.Write(frame[frameHeader:])
	copy(code[:], j.codes.Sum(nil))
	return code
}

func (r record) size() int64 {
	return int64(recordHeader+len(r.query)+len(r.more)+alignment-1) / alignment * alignment
}

func (r record) append(b []byte) []byte {
	end := len(b) + int(r.size())
	b = append(b, byte(len(r.query)), byte(slices.Index(sources, r.answer.Source)), 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(int32(r.answer.Token)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.more)))
	b = append(append(append(b, r.inputs[:]...), r.query...), r.more...)
	for len(b) < end {
		b = append(b, 0)
	}
	return b
}

func (r *record) parse(b []byte) (query, more int) {
	r.answer = tokens.Answer{Token: int(int32(binary.LittleEndian.Uint32(b[4:]))), Source: sources[int(b[1])%len(sources)]}
	copy(r.inputs[:], b[12:recordHeader])
	return int(b[0]), int(binary.LittleEndian.Uint32(b[8:]))
}

// parseRecord returns a record that shares the memory of b. If b holds no whole record, the size is 0.
func parseRecord(b []byte) (r record, size int64) {
	if len(b) < recordHeader {
		return r, 0
	}
	n, more := r.parse(b)
	b = b[recordHeader:]
	if n > mostQuery || more > mostMore || n+more > len(b) {
		return r, 0
	}
	r.query, r.more = b[:n], b[n:n+more]
	return r, r.size()
}

// find sets only the fields answer and inputs of the record.
func (j *journal) find(query string) (found record, ok bool, err error) {
	j.index.find(query, func(place uint32) bool {
		b := make([]byte, recordHeader+len(query))
		if _, err = j.file.ReadAt(b, int64(place)*alignment); err == io.EOF { // the last record, with a shorter query
			err = nil
			return false
		}
		n, _ := found.parse(b)
		ok = n == len(query) && string(b[recordHeader:]) == query
		return ok || err != nil
	})
	if err != nil {
		err = fmt.Errorf("online: %w", err)
	}
	return found, ok, err
}

// append returns when the records are on disk. After an error, the journal must be closed.
func (j *journal) append(records []record) error {
	for len(records) > 0 {
		j.buf = append(j.buf[:0], make([]byte, frameHeader)...)
		n := 0
		for n < len(records) && len(j.buf) < frameHeader+fullFrame {
			j.buf = records[n].append(j.buf)
			n++
		}
		binary.LittleEndian.PutUint32(j.buf, uint32(len(j.buf)-frameHeader))
		binary.LittleEndian.PutUint32(j.buf[4:], j.checksum(j.buf))
		code := j.codeOf(j.buf)
		copy(j.buf[8:], code[:])
		if j.end+int64(len(j.buf)) >= alignment*math.MaxUint32 {
			return fmt.Errorf("online: %s has its largest size, 32 GiB", j.file.Name())
		}
		if _, err := j.file.WriteAt(j.buf, j.end); err != nil {
			return fmt.Errorf("online: %w", err)
		}
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("online: %w", err)
		}
		if err := j.mark.set(j.end, code); err != nil {
			return fmt.Errorf("online: %w", err)
		}
		at := j.end + frameHeader
		for _, r := range records[:n] {
			j.index.add(string(r.query), uint32(at/alignment))
			at += r.size()
		}
		j.code, j.end, records = code, at, records[n:]
	}
	return nil
}
