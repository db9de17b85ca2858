package durable

import "syscall"

// statusTime returns when a file or its attributes last changed, which nobody can set.
func statusTime(s *syscall.Stat_t) syscall.Timespec { return s.Ctim }

// Remote returns the kind of the file system of path if its locks may not keep out processes of other
// hosts, and "" otherwise, or if that is not known.
func Remote(path string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return ""
	}
	return map[uint32]string{
		0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x65735546: "FUSE", 0x01021997: "9p", 0x5346414f: "AFS",
	}[uint32(s.Type)]
}
