// Package shell holds what the commands of pate share: flags that every command takes
// and groups of flags that several take, formats of output, errors and exit codes,
// progress, suggestions for typing errors, and files that must not be overwritten.
//
// A command is a package beside this one with one function, New, which takes the
// [Globals] and returns a cobra command. No command imports another one.
package shell
