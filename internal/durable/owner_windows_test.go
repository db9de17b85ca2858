package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/testkit"
)

func access(t *testing.T, path, text string) {
	acl, _ := testkit.Must2(testkit.Must(windows.SecurityDescriptorFromString(text)).DACL())
	require.NoError(t, windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, acl, nil))
}

func TestSecretsAreTheUsersAlone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "open")
	require.NoError(t, os.Mkdir(folder, 0o700))
	access(t, folder, "D:P(A;OICI;FA;;;WD)") // everybody may do anything there
	path := filepath.Join(folder, "key")
	require.NoError(t, os.WriteFile(path, []byte("secret"), 0o600))
	require.ErrorIs(t, testkit.Err(durable.ReadSecret(path)), durable.ErrExposed, "the mode says nothing here")
	require.ErrorIs(t, durable.PrivateFolder(folder), durable.ErrExposed)

	require.NoError(t, durable.WriteBytes(path, 0o600, []byte("secret")))
	require.Equal(t, "secret", string(testkit.Must(durable.ReadSecret(path))))
	for who, refused := range map[string]bool{
		"(A;;FR;;;BU)": true, "(A;;FW;;;AU)": true, "(A;;SD;;;WD)": true, "(A;;GR;;;WD)": true,
		"(D;;FR;;;WD)": false, "(A;;0x120080;;;WD)": false, // denied; the attributes alone
	} {
		access(t, path, "D:P"+who+"(A;;FA;;;SY)(A;;FA;;;BA)")
		info := testkit.Must(os.Stat(path))
		exposed := durable.Exposed(path, info) != nil || durable.Readable(path, info) != nil
		require.Equal(t, refused, exposed, who)
	}

	require.NoError(t, durable.PrivateFolder(filepath.Join(folder, "a", "private")))
	public := filepath.Join(folder, "labels.csv")
	require.NoError(t, durable.WriteBytes(public, 0o644, nil))
	info := testkit.Must(os.Stat(public))
	require.Error(t, durable.Readable(public, info), "what is published has the rights of its folder")
}

func TestFilesThatAreReadAreReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "head")
	require.NoError(t, durable.WriteBytes(path, 0o600, []byte("old")))
	reader := testkit.Must(os.Open(path))
	done := make(chan error)
	go func() { done <- durable.WriteBytes(path, 0o600, []byte("new")) }()
	require.NoError(t, reader.Close())
	require.NoError(t, <-done)
	require.NoError(t, durable.SyncDir(filepath.Dir(path)))
}

func TestTemporaryFilesGo(t *testing.T) {
	f, named := testkit.Must2(durable.Unnamed("pate-test-*"))
	require.False(t, named)
	testkit.Must(f.WriteString("votes"))
	require.NoError(t, f.Close())
	require.NoFileExists(t, f.Name())
}
