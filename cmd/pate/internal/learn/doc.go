// Package learn is the command `pate learn`: the course as a page.
package learn
