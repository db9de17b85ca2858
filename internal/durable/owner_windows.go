package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	mayRead  = windows.FILE_READ_DATA | windows.GENERIC_READ | windows.GENERIC_ALL
	mayWrite = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | fileDeleteChild | windows.DELETE |
		windows.WRITE_DAC | windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL
	fileDeleteChild = 0x40
)

// Exposed returns an error if an account other than this user, the system and the administrators owns or can
// write path.
func Exposed(path string, _ fs.FileInfo) error { return granted(path, mayWrite, "write to it") }

// Readable returns an error if an account other than this user, the system and the administrators owns or can
// read path.
func Readable(path string, _ fs.FileInfo) error { return granted(path, mayRead, "read it") }

func ours() (user *windows.SID, all []*windows.SID, err error) {
	token, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, nil, err
	}
	all = []*windows.SID{token.User.Sid}
	for _, kind := range []windows.WELL_KNOWN_SID_TYPE{windows.WinLocalSystemSid, windows.WinBuiltinAdministratorsSid} {
		sid, err := windows.CreateWellKnownSid(kind)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, sid)
	}
	return token.User.Sid, all, nil
}

func granted(path string, rights windows.ACCESS_MASK, action string) error {
	_, all, err := ours()
	if err != nil {
		return fmt.Errorf("has an access list that cannot be judged: %w", err)
	}
	list, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("has an access list that cannot be read: %w", err)
	}
	owner, _, err := list.Owner()
	if err != nil {
		return fmt.Errorf("has an owner that cannot be read: %w", err)
	}
	if !among(owner, all) {
		return fmt.Errorf("belongs to %s", account(owner))
	}
	acl, _, err := list.DACL()
	if err != nil && !errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) {
		return fmt.Errorf("has an access list that cannot be read: %w", err)
	}
	if acl == nil { // a missing list allows everybody
		return fmt.Errorf("everybody may %s, it has no access list", action)
	}
	for i := range uint32(acl.AceCount) {
		var entry *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(acl, i, &entry); err != nil {
			return fmt.Errorf("has an access list that cannot be read: %w", err)
		}
		switch {
		case entry.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0: // only for future files in a folder
			continue
		case entry.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE:
			continue
		case entry.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE:
			return fmt.Errorf("has an access list with an entry of type %d, which is not understood", entry.Header.AceType)
		}
		who := (*windows.SID)(unsafe.Pointer(&entry.SidStart))
		if entry.Mask&rights != 0 && !among(who, all) && !who.IsWellKnown(windows.WinCreatorOwnerRightsSid) {
			return fmt.Errorf("%s may %s (icacls shows who may)", account(who), action)
		}
	}
	return nil
}

func among(sid *windows.SID, all []*windows.SID) bool {
	return sid != nil && slices.ContainsFunc(all, sid.Equals)
}

func account(sid *windows.SID) string {
	if sid == nil {
		return "nobody"
	}
	if name, domain, _, err := sid.LookupAccount(""); err == nil {
		return domain + `\` + name
	}
	return sid.String()
}

// KeepPrivate restricts a new file or folder to this user, the system and the administrators. Later files in
// the folder inherit the limit. By default, Windows gives a new file the folder's access list.
func KeepPrivate(path string) error {
	user, _, err := ours()
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	// Protected (P) against inheritance; full access (FA), also for future files (OICI), for the system (SY),
	// the administrators (BA) and this user.
	return setAccess(path, "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;"+user.String()+")", windows.PROTECTED_DACL_SECURITY_INFORMATION)
}

func share(path string) error {
	return setAccess(path, "D:", windows.UNPROTECTED_DACL_SECURITY_INFORMATION)
}

func setAccess(path, text string, inherit windows.SECURITY_INFORMATION) error {
	list, err := windows.SecurityDescriptorFromString(text)
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	acl, _, err := list.DACL()
	if err == nil {
		err = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION|inherit, nil, nil, acl, nil)
	}
	if err != nil {
		return fmt.Errorf("durable: who may read %s: %w", path, err)
	}
	return nil
}
