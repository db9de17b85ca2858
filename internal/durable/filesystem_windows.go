package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

const patience = 2 * time.Second // limit of the retries of rename

func rename(from, to string) error {
	fail := func(err error) error { return &os.LinkError{Op: "rename", Old: from, New: to, Err: err} }
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return fail(err)
	}
	name, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return fail(err)
	}
	deadline := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait *= 2 {
		err := windows.MoveFileEx(old, name, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) || time.Now().After(deadline):
			return fail(err)
		}
		time.Sleep(wait)
	}
}

// SyncDir flushes the names in a folder to disk. If the file system does not support this, SyncDir does
// nothing. [WriteFile] is durable even then, because rename returns when the new name is on disk. NTFS itself
// keeps changes of names in order.
func SyncDir(dir string) error {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	// os.Open gives a read handle, which cannot be flushed.
	folder, err := windows.CreateFile(name, windows.GENERIC_WRITE, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err == nil {
		err = errors.Join(windows.FlushFileBuffers(folder), windows.CloseHandle(folder))
	}
	for _, unsupported := range []error{
		windows.ERROR_ACCESS_DENIED, windows.ERROR_INVALID_FUNCTION, windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_PARAMETER,
	} {
		if errors.Is(err, unsupported) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("durable: sync folder %s: %w", dir, err)
	}
	return nil
}

// Unnamed makes a temporary file that the system removes when the file is closed or the process ends.
// The second result is always false.
func Unnamed(pattern string) (f *os.File, named bool, err error) {
	made, err := os.CreateTemp("", pattern)
	if err != nil {
		return nil, false, err
	}
	if err := errors.Join(KeepPrivate(made.Name()), made.Close()); err != nil {
		return nil, false, errors.Join(err, os.Remove(made.Name()))
	}
	name, err := windows.UTF16PtrFromString(made.Name())
	if err != nil {
		return nil, false, err
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE|windows.DELETE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	if err != nil {
		return nil, false, errors.Join(&fs.PathError{Op: "open", Path: made.Name(), Err: err}, os.Remove(made.Name()))
	}
	return os.NewFile(uintptr(handle), made.Name()), false, nil
}
