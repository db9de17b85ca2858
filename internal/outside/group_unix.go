//go:build unix

package outside

import (
	"os/exec"
	"syscall"
)

// endTogether makes cmd run in a process group of its own. If the context of cmd ends, the whole group is
// killed.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
