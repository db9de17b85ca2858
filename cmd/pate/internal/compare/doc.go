// Package compare is the command `pate compare`: PATE and DP-SGD head to head on one task.
package compare
