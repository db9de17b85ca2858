package durable

import "syscall"

// statusTime returns when a file or its attributes last changed, which nobody can set.
func statusTime(s *syscall.Stat_t) syscall.Timespec { return s.Ctimespec }

// Remote returns the kind of the file system of path if its locks may not keep out processes of other
// hosts, and "" otherwise, or if that is not known.
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
