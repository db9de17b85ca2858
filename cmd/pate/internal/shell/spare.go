package shell

import (
	"runtime/debug"

	"github.com/pate-go/pate/dataset"
)

// manyPixels is from how many bytes of images on their features are hundreds of megabytes.
const manyPixels = 64 << 20

// SpareMemory has memory collected early where a task has many images. Their features are
// gigabytes in a few pieces without pointers, so that a collection reads hardly anything; by
// the default it would wait until as much again is garbage. Tasks with fewer rows keep the
// default: their heaps are small, and a tenth of them is soon used up. The function it
// returns, which is to be deferred, sets what was set before.
func SpareMemory(task dataset.Task) (restore func()) {
	pixels := 0
	for _, set := range []dataset.Set{task.Private, task.Pool, task.Test} {
		pixels += len(set.X.Data)
	}
	if task.Image.Rows > 0 && 4*pixels >= manyPixels {
		return CollectAt(10)
	}
	return func() {}
}

// CollectAt has memory collected when that many percent more of it are in use than after the
// last collection. The function it returns, which is to be deferred, sets what was set before:
// a process may run many commands.
func CollectAt(percent int) (restore func()) {
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
