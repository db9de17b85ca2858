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
	return s.Ctimespec, true
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
	var name []byte
	for _, c := range s.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	return map[string]string{
		"nfs": "NFS", "smbfs": "SMB", "afpfs": "AFP", "webdav": "WebDAV", "macfuse": "FUSE", "osxfuse": "FUSE",
	}[string(name)]
}
