//go:build !linux

package kernel

func adviseLarge([]byte) {}
