package durable

import (
	"io/fs"
	"syscall"
)

// statusTime returns when a file, or what is known of it, was last changed. Nobody can set it, as they can
// the time of modification.
func statusTime(info fs.FileInfo) (syscall.Timespec, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return syscall.Timespec{}, false
	}
	return s.Ctim, true
}

// Unchanged reports whether two looks at a name saw one file that nobody wrote to meanwhile.
func Unchanged(was, is fs.FileInfo) bool {
	before, known := statusTime(was)
	after, _ := statusTime(is)
	return sameContents(was, is) && (!known || before == after)
}

// Remote returns the kind of the file system of path if it is one on which a lock may not keep out
// processes of other hosts, and "" otherwise, or if that is not known.
func Remote(path string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return ""
	}
	return map[uint32]string{
		0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x65735546: "FUSE", 0x01021997: "9p", 0x5346414f: "AFS",
	}[uint32(s.Type)]
}
